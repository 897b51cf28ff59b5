// In the same transaction as the changes: how far they reach, and in whose history. Never backwards: whoever lost the
// lease in the middle of a page writes what is there already.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key})
WHERE c.tick IS NULL OR c.tick <= $tick
SET c.tick = $tick, c.nonce = $nonce, c.incarnation = $incarnation
