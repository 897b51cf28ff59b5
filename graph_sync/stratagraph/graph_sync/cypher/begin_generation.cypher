// From here on writers of older generations are turned away; without a tick, what is there does not count as whole.
MERGE (c:SyncCheckpoint {k: $k})
SET c = {k: $k, gen: $gen, at: datetime()}
