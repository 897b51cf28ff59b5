// Begin a generation: set the checkpoints to its start position, and refuse the writers of older generations.
// Locks the checkpoints that every writer locks, in the same order. A leader that was slow does not undo the generation
// that its successor has begun; a value that no worker wrote is replaced. The mark of the rebuild stays until it is
// complete. Checkpoints under other keys were written by an earlier version of the worker.
UNWIND $keys AS key
MERGE (c:SyncCheckpoint {k: key})
SET c.at = datetime()
WITH c, key WHERE NOT coalesce(c.gen IS :: INTEGER NOT NULL AND $gen <= c.gen < 9007199254740992, false)
SET c = {k: key, gen: $gen, snapshot: $snapshot, nonce: $nonce, incarnation: $incarnation, mapping: $mapping,
  at: datetime()}
WITH count(c) AS begun
MERGE (s:SyncRebuild {gen: $gen})
WITH begun
MATCH (old:SyncCheckpoint) WHERE NOT old.k IN $keys
DETACH DELETE old
