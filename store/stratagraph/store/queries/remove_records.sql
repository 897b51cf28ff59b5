-- The rows go, and by the foreign keys all that belongs to them.
DELETE FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) RETURNING id, row_version
