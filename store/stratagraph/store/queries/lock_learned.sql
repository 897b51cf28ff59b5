-- Lock episodes that nobody else holds, and say which of them learning has read.
SELECT e.tenant, e.id, e.learned_at IS NOT NULL AS is_learned
FROM episode e
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id) ON e.tenant = a.tenant AND e.id = a.id
FOR UPDATE OF e SKIP LOCKED
