// Move the checkpoints to a new generation without changing their positions: the rows of the mirror stay valid.
// The mark of the rebuild stays until it is complete.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key}) SET c.gen = $gen, c.at = datetime()
WITH count(c) AS locked
MERGE (s:SyncRebuild {gen: $gen})
RETURN locked
