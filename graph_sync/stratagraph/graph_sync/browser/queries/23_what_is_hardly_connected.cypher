// 23 What is hardly connected?
// The newest records without any relation, which only a search for their words finds; and some with one or two.
// :param ten => 1
MATCH (n:Mirrored)
WHERE n.ten = $ten AND n.id IS NOT NULL AND n:Memory AND NOT EXISTS { (n)--() }
WITH n ORDER BY n.ten DESC, n.id DESC LIMIT 100
RETURN n, null AS r, null AS m
LIMIT 100
UNION ALL
MATCH (n:Mirrored)
WHERE n.ten = $ten AND n.id IS NOT NULL AND n:Memory AND COUNT { (n)--() } IN [1, 2]
WITH n ORDER BY n.ten DESC, n.id DESC LIMIT 20
MATCH (n)-[r]-(m)
RETURN n, r, m
LIMIT 40
