// From here on writers of older generations are turned away. Locks what every writer holds, in the writers' order. A
// keeper that was slow does not take back what its successor has begun.
UNWIND $keys AS key
MERGE (c:SyncCheckpoint {k: key})
SET c.at = datetime()
WITH c, key WHERE coalesce(c.gen, -1) < $gen
SET c = {k: key, gen: $gen, tick: $tick, nonce: $nonce, incarnation: $incarnation, at: datetime()}
