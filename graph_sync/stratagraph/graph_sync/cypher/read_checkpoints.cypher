MATCH (c:SyncCheckpoint)
RETURN collect({k: c.k, gen: c.gen, tick: c.tick, nonce: c.nonce, incarnation: c.incarnation}) AS found
