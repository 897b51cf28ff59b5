-- delete_records --
-- Delete records, and by the foreign keys everything that belongs to them. Their words are counted down later.
WITH deleted AS (
  DELETE FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
  RETURNING id, tenant, scope, sensitivity, terms, row_version
), logged AS (
  {log_deleted}
)
SELECT id, row_version, scope, sensitivity FROM deleted

-- fetch_removed_records --
-- Fetch the pruned and deleted records that were linked to one of the given entities.
SELECT id FROM tombstone WHERE tenant = :tenant AND entities && CAST(:entities AS uuid[])
