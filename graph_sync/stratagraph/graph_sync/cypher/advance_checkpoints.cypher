// Begin a write as lock_checkpoints does, and move the writer's checkpoints, in the same transaction as the changes that
// they cover. Count those that have not reached the position before: the mirror is then an older copy, and the
// transaction must be rolled back.
// They never move backwards: a worker that lost its lease in the middle of a page writes what is already there.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key}) SET c.at = datetime()
WITH c, coalesce(c.snapshot, 0) AS snapshot, coalesce(c.seq, 0) AS seq
WITH c, snapshot < $least_snapshot OR (snapshot = $least_snapshot AND seq < $least_seq) AS behind,
  snapshot < $snapshot OR (snapshot = $snapshot AND seq <= $seq) AS earlier
FOREACH (_ IN CASE WHEN earlier AND NOT behind THEN [1] ELSE [] END |
  SET c.snapshot = $snapshot, c.seq = $seq, c.nonce = $nonce, c.incarnation = $incarnation)
WITH collect(CASE WHEN c.gen IS :: INTEGER NOT NULL THEN c.gen ELSE -1 END) AS gens,
  sum(CASE WHEN behind THEN 1 ELSE 0 END) AS behind
OPTIONAL MATCH (g:SyncGeneration) WHERE g.ten IN $tenants AND g.gen IS :: INTEGER NOT NULL
RETURN gens, behind, collect(g.ten) AS tenants, collect(g.gen) AS own
