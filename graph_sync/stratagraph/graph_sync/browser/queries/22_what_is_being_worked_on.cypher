// 22 What is being worked on?
// Open tasks, and the entities they are about. Where no task is open, the newest commits and episodes.
// :param ten => 1
MATCH (w:Working)
WHERE w.ten = $ten AND w:Memory
WITH w ORDER BY w.created_at DESC LIMIT 50
OPTIONAL MATCH (w)-[r]->(m:Memory)
RETURN w, r, m
LIMIT 100
UNION ALL
MATCH (w:Mirrored)
WHERE w.ten = $ten AND w.id IS NOT NULL AND w:Memory AND (w:Commit OR w:Episode)
  AND NOT EXISTS { MATCH (o:Working) WHERE o.ten = $ten AND o:Memory }
WITH w ORDER BY w.ten DESC, w.id DESC LIMIT 10
OPTIONAL MATCH (w)-[r]-(m:Memory)
RETURN w, r, m
LIMIT 100
