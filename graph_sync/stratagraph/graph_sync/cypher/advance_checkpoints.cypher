// Advance the checkpoints of the writer, in the same transaction as the changes they cover.
// They never move backwards: a worker that lost its lease in the middle of a page writes what is already there.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key})
WHERE c.snapshot IS NULL OR c.snapshot <= $snapshot
SET c.snapshot = $snapshot, c.nonce = $nonce, c.incarnation = $incarnation
