// 23 What is nothing connected to?
// Records without any relation, the newest first: only a search for their words finds them.
// :param ten => 1
MATCH (n:Mirrored)
WHERE n.ten = $ten AND n.id IS NOT NULL AND n:Memory AND NOT EXISTS { (n)--() }
RETURN n
ORDER BY n.ten DESC, n.id DESC
LIMIT 100
