// 16 Which plans use a tool?
// The steps that use $tool, and their plans.
// :param ten => 1
// :param tool => 'deploy'
MATCH (t:Tool {ten: $ten, name: $tool})<-[u:USES_TOOL]-(s:PlanStep)<-[h:HAS_STEP]-(p:Memory)
RETURN t, u, s, h, p
LIMIT 100
