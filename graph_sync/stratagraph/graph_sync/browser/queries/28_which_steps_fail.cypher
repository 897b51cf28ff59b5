// 28 Which steps fail?
// Steps of current plans that failed, the most frequent failure first, with how often each was executed.
// :param ten => 1
MATCH (p:PlanGraph)-[:HAS_STEP]->(s:PlanStep)
WHERE p.ten = $ten AND p:Memory AND s.failed > 0
RETURN p.name AS plan, p.version AS version, s.name AS step, s.executed AS executed, s.failed AS failed,
  CASE WHEN s.executed > 0 THEN round(1.0 * s.failed / s.executed, 2) END AS failure_rate
ORDER BY failed DESC, plan, step
LIMIT 150
