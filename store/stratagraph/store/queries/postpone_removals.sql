-- These objects could not be removed now.
UPDATE artifact_removal r SET due_at = :until
FROM unnest(CAST(:tenants AS bigint[]), CAST(:objects AS uuid[])) AS failed(tenant, object)
WHERE r.tenant = failed.tenant AND r.object = failed.object
