// List the generations of single tenants; `gen` is null where somebody replaced it by something else.
MATCH (g:SyncGeneration)
RETURN collect([g.ten, CASE WHEN g.gen IS :: INTEGER NOT NULL THEN g.gen END]) AS found
