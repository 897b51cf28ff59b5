// Begins every write, and locks the writer's checkpoints: whoever begins a generation waits for it, and whoever writes
// after that learns of it here. `own` are the generations of single tenants.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key}) SET c.at = datetime()
WITH collect(c.gen) AS gens
OPTIONAL MATCH (g:SyncGeneration) WHERE g.ten IN $tenants
RETURN gens, collect(g.ten) AS tenants, collect(g.gen) AS own
