// From here on writers of older generations are turned away. Locks what every writer holds, in the writers' order.
UNWIND $keys AS key
MERGE (c:SyncCheckpoint {k: key})
SET c = {k: key, gen: $gen, tick: $tick, nonce: $nonce, incarnation: $incarnation, at: datetime()}
