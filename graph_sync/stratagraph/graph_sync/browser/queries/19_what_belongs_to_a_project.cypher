// 19 What belongs to a project?
// People, files, issues, tools and other entities that occur in the same records as the entity $name, by kind.
// :param ten => 1
// :param name => 'Lantern'
MATCH (p:Memory {ten: $ten, name: $name})<--(m:Memory)-->(x:Memory)
WHERE p:Entity AND x:Entity AND x <> p
WITH head([label IN labels(x) WHERE NOT label IN ['Mirrored', 'Memory', 'Entity']]) AS kind, x, count(DISTINCT m) AS shared
ORDER BY shared DESC
RETURN coalesce(kind, 'Entity') AS kind, count(x) AS how_many, collect(x.name)[..15] AS names
ORDER BY how_many DESC
LIMIT 50
