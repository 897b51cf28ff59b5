-- These objects are gone.
DELETE FROM artifact_removal r
USING unnest(CAST(:tenants AS bigint[]), CAST(:objects AS uuid[])) AS gone(tenant, object)
WHERE r.tenant = gone.tenant AND r.object = gone.object
