// Begin a generation of one tenant. It waits for all writers; those of other tenants are not refused.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key}) SET c.at = datetime()
WITH count(c) AS locked
MERGE (g:SyncGeneration {ten: $ten}) SET g.gen = $gen
RETURN locked
