// Advance the checkpoints of the writer, in the same transaction as the changes they cover, and count those that have not
// reached the position before: the mirror is then an older copy, and the transaction must not stay.
// They never move backwards: a worker that lost its lease in the middle of a page writes what is already there.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key})
WITH c, coalesce(c.snapshot, 0) AS snapshot, coalesce(c.seq, 0) AS seq
WITH c, snapshot < $least_snapshot OR (snapshot = $least_snapshot AND seq < $least_seq) AS behind,
  snapshot < $snapshot OR (snapshot = $snapshot AND seq <= $seq) AS earlier
FOREACH (_ IN CASE WHEN earlier AND NOT behind THEN [1] ELSE [] END |
  SET c.snapshot = $snapshot, c.seq = $seq, c.nonce = $nonce, c.incarnation = $incarnation)
RETURN sum(CASE WHEN behind THEN 1 ELSE 0 END) AS behind
