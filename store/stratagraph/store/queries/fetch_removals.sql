-- Objects that are to be removed by now, for one remover at a time.
SELECT tenant, object, sha256 FROM artifact_removal
WHERE due_at <= :at ORDER BY due_at, object LIMIT :limit FOR UPDATE SKIP LOCKED
