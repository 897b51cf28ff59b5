// Read how far a generation has been written.
MATCH (s:SyncRebuild {gen: $gen})
WHERE s.kind IN [1, 2] AND s.done IS :: INTEGER NOT NULL
  AND (s.ten IS NULL AND s.id IS NULL OR s.ten IS :: INTEGER NOT NULL AND toStringOrNull(s.id) =~ $uuid)
RETURN s.kind AS kind, s.ten AS ten, s.id AS id, s.done AS done
