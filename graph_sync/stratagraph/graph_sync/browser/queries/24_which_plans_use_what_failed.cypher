// 24 Which plans use a tool that failed?
// The calls that failed, the newest first, their tools, and the plans with a step that uses the same tool.
// :param ten => 1
MATCH (c:ToolCall {ten: $ten, failed: true})
WHERE c:Memory
WITH c ORDER BY c.occurred_at DESC LIMIT 50
MATCH (c)-[u:USES_TOOL]->(t:Tool)
OPTIONAL MATCH (t)<-[v:USES_TOOL]-(s:PlanStep)<-[h:HAS_STEP]-(p:Memory)
RETURN c, u, t, v, s, h, p
LIMIT 200
