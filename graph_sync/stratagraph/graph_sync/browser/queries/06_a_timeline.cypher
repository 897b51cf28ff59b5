// 06 A timeline
// Events, statements and facts about the entity $name, in the order in which they occurred.
// :param ten => 1
// :param name => 'Lantern'
MATCH (e:Memory {ten: $ten, name: $name})--(m:Memory)
WHERE e:Entity
RETURN DISTINCT m.occurred_at AS at, m.type AS type, m.name AS what, m.state AS state
ORDER BY at
LIMIT 200
