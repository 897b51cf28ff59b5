// 18 Who and what shares memories with an entity?
// The entities that occur in the same records as $name, the most frequent first.
// :param ten => 1
// :param name => 'Lantern'
MATCH (e:Memory {ten: $ten, name: $name})<-[:MENTIONS_ENTITY|SUBJECT_ENTITY|OBJECT_ENTITY|USES]-(m:Memory)
MATCH (m)-[:MENTIONS_ENTITY|SUBJECT_ENTITY|OBJECT_ENTITY|USES]->(o:Memory)
WHERE o <> e
RETURN o.name AS entity, [label IN labels(o) WHERE NOT label IN ['Mirrored', 'Memory', 'Entity']] AS is_a,
  count(DISTINCT m) AS shared_records, collect(DISTINCT m.name)[..5] AS such_as
ORDER BY shared_records DESC, entity
LIMIT 100
