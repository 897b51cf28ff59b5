// 21 What was learned last?
// The newest facts, skills and plans, and the entities they are about.
// :param ten => 1
MATCH (n:Mirrored)
WHERE n.ten = $ten AND n.id IS NOT NULL AND n:Memory AND (n:Semantic OR n:Competence OR n:PlanGraph)
WITH n ORDER BY n.ten DESC, n.id DESC LIMIT 40
OPTIONAL MATCH (n)-[r:SUBJECT_ENTITY|OBJECT_ENTITY|MENTIONS_ENTITY]->(e:Memory)
RETURN n, r, e
LIMIT 200
