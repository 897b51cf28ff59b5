-- delete_tenant_records --
-- Delete records of a tenant that is being erased; unlike delete_records, the caller leaves no tombstones.
DELETE FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) RETURNING id, type, row_version
