// 08 What is in doubt?
// Facts that contest or contradict each other, and the entities they are about.
// :param ten => 1
MATCH (a:Memory)-[r:CONTESTED_BY|CONTRADICTS]->(b:Memory)
WHERE r.ten = $ten
OPTIONAL MATCH (a)-[s:SUBJECT_ENTITY]->(e:Memory)
RETURN a, r, b, s, e
ORDER BY r.created_at DESC
LIMIT 100
