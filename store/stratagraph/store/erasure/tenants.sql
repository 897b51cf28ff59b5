-- delete_tenant_records --
-- Delete records of a tenant that is being erased; unlike delete_records, the caller leaves no tombstones.
WITH deleted AS (
  DELETE FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
  RETURNING id, tenant, scope, sensitivity, terms, row_version
), logged AS (
  {log_deleted}
)
SELECT id, row_version FROM deleted
