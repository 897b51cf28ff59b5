// 09 What replaced what?
// Records that superseded each other, or were forked for other conditions; past records are grey. And the newest
// commits, with the one before each that changed the same file.
// :param ten => 1
MATCH (a)-[r:SUPERSEDES|FORKED_FROM]->(b)
WHERE r.ten = $ten
RETURN a, r, b, null AS s, null AS c
ORDER BY r.created_at DESC
LIMIT 100
UNION ALL
MATCH (a:Mirrored)
WHERE a.ten = $ten AND a.id IS NOT NULL AND a:Memory AND a:Commit
WITH a ORDER BY a.ten DESC, a.id DESC LIMIT 10
MATCH (a)-[r:MENTIONS_ENTITY]->(b:Memory)
WHERE 'File' IN labels(b)
WITH a, r, b LIMIT 50
UNWIND COLLECT {
  MATCH (b)<-[s:MENTIONS_ENTITY]-(c:Commit)
  WHERE c:Memory AND c.occurred_at < a.occurred_at
  RETURN [s, c] ORDER BY c.occurred_at DESC LIMIT 1
} AS before
RETURN a, r, b, before[0] AS s, before[1] AS c
LIMIT 50
