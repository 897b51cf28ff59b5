-- The episodes that records are or belong to.
SELECT a.tenant, a.id, e.id AS episode
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
JOIN episode e ON e.tenant = a.tenant AND e.id = a.id
UNION ALL
SELECT a.tenant, a.id, v.episode
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
JOIN episode_event v ON v.tenant = a.tenant AND v.record = a.id
