// 04 A first look
// The newest records and the relations between them. Double-click one to see what else it is connected to.
// :param ten => 1
MATCH (n:Mirrored)
WHERE n.ten = $ten AND n.id IS NOT NULL AND n:Memory
WITH n ORDER BY n.ten DESC, n.id DESC LIMIT 60
OPTIONAL MATCH (n)-[r]-(m:Memory)
RETURN n, r, m
LIMIT 200
