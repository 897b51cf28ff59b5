// Store how far a generation has been written, in the same transaction as the rows.
MERGE (s:SyncRebuild {gen: $gen})
SET s.kind = $kind, s.ten = $ten, s.id = $id, s.done = $done
