// 21 What was learned last?
// The newest facts, skills, plans, people and things, and how they are related to each other and to what mentions them.
// :param ten => 1
MATCH (n:Mirrored)
WHERE n.ten = $ten AND n.id IS NOT NULL AND n:Memory AND (n:Semantic OR n:Competence OR n:PlanGraph OR n:Entity)
WITH n ORDER BY n.ten DESC, n.id DESC LIMIT 40
OPTIONAL MATCH (n)-[r:SUBJECT_ENTITY|OBJECT_ENTITY|MENTIONS_ENTITY]-(m:Memory)
RETURN n, r, m
LIMIT 200
