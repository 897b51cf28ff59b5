// Read the generations that single tenants have, and whether a rebuild has begun and is not complete.
OPTIONAL MATCH (g:SyncGeneration)
WITH collect(g.ten) AS tenants, collect(g.gen) AS gens
RETURN tenants, gens, EXISTS { (:SyncRebuild) } AS rebuilding
