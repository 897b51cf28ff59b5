// 15 The steps of a plan, in order
// A step follows all steps that lead to it; steps with the same number of steps before them may run in parallel. Of an
// episode, the calls: each follows those that it depends on.
// :param ten => 1
// :param plan => 'Plan: deploy'
MATCH (p:Memory {ten: $ten, name: $plan})-[:HAS_STEP]->(s:PlanStep)
OPTIONAL MATCH (s)<-[:PRECEDES|FEEDS*1..50]-(before:PlanStep)
WITH s, count(DISTINCT before) AS steps_before
RETURN steps_before, s.name AS step,
  COLLECT { MATCH (s)<-[:PRECEDES]-(b) RETURN b.name } AS comes_after,
  COLLECT { MATCH (s)<-[:FEEDS]-(b) RETURN b.name } AS takes_the_output_of
ORDER BY steps_before, step
LIMIT 150
UNION ALL
MATCH (p:Memory {ten: $ten, name: $plan})<-[:PART_OF]-(s:ToolCall)
OPTIONAL MATCH (s)-[:DEPENDS_ON*1..50]->(before:ToolCall)
WITH s, count(DISTINCT before) AS steps_before
RETURN steps_before, s.name AS step, [] AS comes_after,
  COLLECT { MATCH (s)-[:DEPENDS_ON]->(b) RETURN b.name } AS takes_the_output_of
ORDER BY steps_before, s.occurred_at
LIMIT 50
