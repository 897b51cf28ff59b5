// Begin a generation of one tenant. It waits for all writers; those of other tenants are not refused.
// The mark of the rebuild stays until it is complete.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key}) SET c.at = datetime()
WITH count(c) AS locked
MERGE (g:SyncGeneration {ten: $ten}) SET g.gen = $gen
MERGE (s:SyncRebuild {gen: $gen})
RETURN locked
