-- delete_records --
-- Delete records, and by the foreign keys everything that belongs to them.
DELETE FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) RETURNING id, row_version
