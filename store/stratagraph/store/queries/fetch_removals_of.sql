-- What is left of orphans, to be removed at once. Waits for a remover that is at it already.
SELECT tenant, object, sha256 FROM artifact_removal
WHERE tenant = :tenant AND sha256 = ANY(CAST(:hashes AS bytea[])) AND due_at = '-infinity'
ORDER BY object FOR UPDATE
