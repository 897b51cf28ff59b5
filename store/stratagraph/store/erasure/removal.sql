-- delete_records --
-- Delete records, and by the foreign keys everything that belongs to them.
DELETE FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) RETURNING id, row_version

-- fetch_removed_records --
-- Fetch the pruned and deleted records that were linked to one of the given entities.
SELECT id FROM tombstone WHERE tenant = :tenant AND entities && CAST(:entities AS uuid[])
