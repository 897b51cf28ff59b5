// 17 When was a tool called?
// The calls of $tool, the newest first, whether they failed, and their episodes.
// :param ten => 1
// :param tool => 'deploy'
MATCH (t:Tool {ten: $ten, name: $tool})<-[:USES_TOOL]-(c:Memory)
OPTIONAL MATCH (c)-[:PART_OF]->(e:Memory)
RETURN c.occurred_at AS at, c.name AS what, coalesce(c.failed, false) AS failed, e.name AS episode
ORDER BY at DESC
LIMIT 100
