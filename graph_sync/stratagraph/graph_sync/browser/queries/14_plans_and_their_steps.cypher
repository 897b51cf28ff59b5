// 14 Plans and their steps
// The newest plans as graphs: PRECEDES is the order, FEEDS the flow of outputs, USES_TOOL the tool of a step. Without
// any plan, what was done in the newest episodes: their calls, and which calls each DEPENDS_ON.
// :param ten => 1
MATCH (p:PlanGraph)
WHERE p.ten = $ten AND p:Memory
WITH p ORDER BY p.created_at DESC LIMIT 10
MATCH (p)-[h:HAS_STEP]->(s:PlanStep)
OPTIONAL MATCH (s)-[o:PRECEDES|FEEDS]->(t:PlanStep)
RETURN p, h, s, o, t
LIMIT 150
UNION ALL
MATCH (p:Episode)
WHERE p.ten = $ten AND p:Memory AND NOT EXISTS { MATCH (q:PlanGraph) WHERE q.ten = $ten AND q:Memory }
  AND EXISTS { (p)<-[:PART_OF]-(:ToolCall) }
WITH p ORDER BY p.created_at DESC LIMIT 3
MATCH (p)<-[h:PART_OF]-(s:ToolCall)
OPTIONAL MATCH (s)-[o:DEPENDS_ON]->(t:ToolCall)
RETURN p, h, s, o, t
LIMIT 50
