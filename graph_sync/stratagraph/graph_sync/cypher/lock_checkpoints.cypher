// Begin a write: lock the writer's checkpoints and read the generations.
// A worker that begins a generation waits for this lock, and a later writer reads the new number here. `own` are the
// generations of single tenants.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key}) SET c.at = datetime()
WITH collect(CASE WHEN c.gen IS :: INTEGER NOT NULL THEN c.gen ELSE -1 END) AS gens
OPTIONAL MATCH (g:SyncGeneration) WHERE g.ten IN $tenants AND g.gen IS :: INTEGER NOT NULL
RETURN gens, collect(g.ten) AS tenants, collect(g.gen) AS own
