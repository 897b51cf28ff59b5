// 27 Which episodes taught a plan?
// The newest plans and skills, with the episodes that they were learned from, the last one first: read DERIVED_SEMANTIC
// backwards as "learned from".
// :param ten => 1
MATCH (n:Mirrored)
WHERE n.ten = $ten AND n.id IS NOT NULL AND n:Memory AND (n:Competence OR n:PlanGraph)
  AND EXISTS { (n)<-[:DERIVED_SEMANTIC]-(:Episode) }
RETURN n.name AS learned, n.type AS type, n.version AS version, n.executed AS executed,
  COUNT { (n)<-[:DERIVED_SEMANTIC]-(:Episode) } AS episodes,
  COLLECT {
    MATCH (n)<-[:DERIVED_SEMANTIC]-(e:Episode) RETURN e.name ORDER BY e.occurred_at DESC LIMIT 5
  } AS last_episodes
ORDER BY n.ten DESC, n.id DESC
LIMIT 100
