// Delete the marks of rebuilds that are not under way.
UNWIND $gens AS gen
MATCH (s:SyncRebuild) WHERE s.gen = gen DETACH DELETE s
