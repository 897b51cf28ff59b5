// 20 Hubs
// The records with the most relations: central subjects, or entities that are recognised too easily.
// :param ten => 1
MATCH (n:Mirrored)
WHERE n.ten = $ten AND n.id IS NOT NULL AND n:Memory
RETURN n.name AS name, n.type AS type, COUNT { (n)--() } AS relations, n.created_at AS since
ORDER BY relations DESC
LIMIT 25
