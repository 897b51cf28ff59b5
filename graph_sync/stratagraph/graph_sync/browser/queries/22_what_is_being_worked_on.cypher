// 22 What is being worked on?
// Open tasks, and the entities they are about.
// :param ten => 1
MATCH (w:Working)
WHERE w.ten = $ten AND w:Memory
WITH w ORDER BY w.created_at DESC LIMIT 50
OPTIONAL MATCH (w)-[r]->(m:Memory)
RETURN w, r, m
LIMIT 200
