// 25 Tools
// How often each tool was called and failed, how many plans use it, and the entities that it is.
// :param ten => 1
MATCH (t:Tool)
WHERE t.ten = $ten AND t.name IS NOT NULL
RETURN t.name AS tool, COUNT { (t)<-[:USES_TOOL]-(:Episodic) } AS records_with_calls,
  COUNT { (t)<-[:USES_TOOL]-(:ToolCall {failed: true}) } AS failed,
  COUNT { MATCH (t)<-[:USES_TOOL]-(:PlanStep)<-[:HAS_STEP]-(p:Memory) RETURN DISTINCT p } AS plans,
  COLLECT { MATCH (t)<-[:IS_TOOL]-(e:Memory) RETURN e.id } AS entities
ORDER BY records_with_calls DESC, plans DESC, tool
LIMIT 100
