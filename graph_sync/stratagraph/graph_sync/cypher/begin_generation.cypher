// Begin a generation: set the checkpoints to its start position, and refuse the writers of older generations.
// Locks the checkpoints that every writer locks, in the same order. A leader that was slow does not undo the generation
// that its successor has begun. The mark of the rebuild stays until it is complete. Checkpoints under other keys were written by an earlier version of the worker.
UNWIND $keys AS key
MERGE (c:SyncCheckpoint {k: key})
SET c.at = datetime()
WITH c, key WHERE coalesce(c.gen, -1) < $gen
SET c = {k: key, gen: $gen, snapshot: $snapshot, nonce: $nonce, incarnation: $incarnation, mapping: $mapping,
  at: datetime()}
WITH count(c) AS begun
MERGE (s:SyncRebuild {gen: $gen})
WITH begun
MATCH (old:SyncCheckpoint) WHERE NOT old.k IN $keys
DELETE old
