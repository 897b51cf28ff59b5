// 17 When was a tool called?
// The calls of $tool, the newest first, and their episodes.
// :param ten => 1
// :param tool => 'deploy'
MATCH (t:Memory {ten: $ten, name: $tool})<-[:USES]-(c:Memory {type: 'episodic'})
OPTIONAL MATCH (c)-[:PART_OF]->(e:Memory)
RETURN c.occurred_at AS at, c.name AS what, e.name AS episode
ORDER BY at DESC
LIMIT 100
