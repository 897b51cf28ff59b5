// List the generations that are marked as being written, to be compared with those that Postgres has begun.
MATCH (s:SyncRebuild) WHERE s.gen IS :: INTEGER NOT NULL
RETURN collect(s.gen) AS gens
