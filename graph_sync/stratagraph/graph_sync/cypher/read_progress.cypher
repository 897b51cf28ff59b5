// Read how far a generation has been written.
MATCH (s:SyncRebuild {gen: $gen}) WHERE s.kind IS NOT NULL RETURN s.kind AS kind, s.ten AS ten, s.id AS id, s.done AS done
