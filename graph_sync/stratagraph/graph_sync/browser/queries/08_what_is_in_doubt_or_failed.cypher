// 08 What is in doubt, or failed?
// Facts that contest or contradict each other, with the entities they are about; and the newest calls that failed.
// :param ten => 1
MATCH (a:Memory)-[r:CONTESTED_BY|CONTRADICTS]->(b:Memory)
WHERE r.ten = $ten
OPTIONAL MATCH (a)-[s:SUBJECT_ENTITY]->(e:Memory)
RETURN a, r, b, s, e
ORDER BY r.created_at DESC
LIMIT 100
UNION ALL
MATCH (a:ToolCall {ten: $ten, failed: true})
WHERE a:Memory
WITH a ORDER BY a.occurred_at DESC LIMIT 30
OPTIONAL MATCH (a)-[r:USES_TOOL]->(b:Tool)
OPTIONAL MATCH (a)-[s:PART_OF]->(e:Memory)
RETURN a, r, b, s, e
LIMIT 100
