// In the same transaction as the changes: how far they reach, and in whose history.
MERGE (c:SyncCheckpoint {k: $k})
SET c.tick = $tick, c.nonce = $nonce, c.incarnation = $incarnation, c.gen = $gen, c.at = datetime()
