// One tenant's generation: writers of all are waited for, those of other tenants go on as before.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key}) SET c.at = datetime()
WITH count(c) AS held
MERGE (g:SyncGeneration {ten: $ten}) SET g.gen = $gen
RETURN held
