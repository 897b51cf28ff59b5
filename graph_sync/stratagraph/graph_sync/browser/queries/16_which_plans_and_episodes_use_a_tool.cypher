// 16 Which plans and episodes use a tool?
// The steps of plans that use $tool, and the newest calls of it with their episodes.
// :param ten => 1
// :param tool => 'deploy'
MATCH (t:Tool {ten: $ten, name: $tool})<-[u:USES_TOOL]-(s:PlanStep)<-[h:HAS_STEP]-(p:Memory)
RETURN t, u, s, h, p
LIMIT 100
UNION ALL
MATCH (t:Tool {ten: $ten, name: $tool})<-[u:USES_TOOL]-(s:Memory)
WITH t, u, s ORDER BY s.occurred_at DESC LIMIT 30
OPTIONAL MATCH (s)-[h:PART_OF]->(p:Memory)
RETURN t, u, s, h, p
LIMIT 100
