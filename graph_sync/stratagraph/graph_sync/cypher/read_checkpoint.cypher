MATCH (c:SyncCheckpoint {k: $k}) RETURN c.tick AS tick, c.nonce AS nonce, c.incarnation AS incarnation, c.gen AS gen
