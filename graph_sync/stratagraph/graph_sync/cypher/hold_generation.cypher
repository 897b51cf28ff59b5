// Begins every write, and locks the checkpoint: writers take turns, and each knows whose generation it writes into.
MATCH (c:SyncCheckpoint {k: $k}) SET c.at = datetime() RETURN c.gen AS gen
