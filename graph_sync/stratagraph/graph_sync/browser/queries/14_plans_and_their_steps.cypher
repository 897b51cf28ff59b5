// 14 Plans and their steps
// The newest plans as graphs: PRECEDES is the order, FEEDS the flow of outputs, USES_TOOL the tool of a step.
// :param ten => 1
MATCH (p:PlanGraph)
WHERE p.ten = $ten AND p:Memory
WITH p ORDER BY p.created_at DESC LIMIT 10
MATCH (p)-[h:HAS_STEP]->(s:PlanStep)
OPTIONAL MATCH (s)-[o:PRECEDES|FEEDS]->(t:PlanStep)
RETURN p, h, s, o, t
LIMIT 200
