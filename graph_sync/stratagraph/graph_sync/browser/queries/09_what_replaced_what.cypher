// 09 What replaced what?
// Records that superseded each other, or were forked for other conditions. Past records are grey.
// :param ten => 1
MATCH (a)-[r:SUPERSEDES|FORKED_FROM]->(b)
WHERE r.ten = $ten
RETURN a, r, b
ORDER BY r.created_at DESC
LIMIT 100
