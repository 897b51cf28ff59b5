// 26 What was learned in the last week?
// The facts, skills and plans that were learned from episodes in the week up to the newest of them, with these episodes and
// the versions that they replaced. DERIVED_SEMANTIC leads from an episode to what was learned from it.
// :param ten => 1
MATCH (n:Mirrored)
WHERE n.ten = $ten AND n.id IS NOT NULL AND n:Memory AND (n:Semantic OR n:Competence OR n:PlanGraph)
  AND EXISTS { (n)<-[:DERIVED_SEMANTIC]-(:Episode) }
WITH n ORDER BY n.ten DESC, n.id DESC LIMIT 100
WITH max(n.created_at) AS newest, collect(n) AS learned
UNWIND learned AS n
WITH newest, n WHERE n.created_at >= newest - duration('P7D')
MATCH (n)<-[r:DERIVED_SEMANTIC]-(e:Episode)
OPTIONAL MATCH (n)-[s:SUPERSEDES]->(before:Past)
RETURN n, r, e, s, before
LIMIT 150
