// Move the checkpoints to a new generation without changing their positions: the rows of the mirror stay valid.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key}) SET c.gen = $gen, c.at = datetime()
RETURN count(c) AS locked
