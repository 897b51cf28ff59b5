// 09 What replaced what?
// Chains of records that superseded each other, or were forked for other conditions. What is past is grey.
// :param ten => 1
MATCH (a)-[r:SUPERSEDES|FORKED_FROM]->(b)
WHERE r.ten = $ten
RETURN a, r, b
ORDER BY r.created_at DESC
LIMIT 100
