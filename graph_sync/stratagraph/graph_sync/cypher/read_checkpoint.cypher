MATCH (c:SyncCheckpoint {k: $k}) WHERE c.tick IS NOT NULL
RETURN c.tick AS tick, c.nonce AS nonce, c.incarnation AS incarnation, c.gen AS gen
