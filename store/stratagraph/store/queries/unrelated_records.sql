-- Which of some locked records no relation is left at; none can come, because it would have to lock the record.
SELECT r.tenant, r.id
FROM record r
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id) ON r.tenant = a.tenant AND r.id = a.id
WHERE NOT EXISTS (SELECT FROM relation e WHERE e.tenant = r.tenant AND e.source = r.id)
  AND NOT EXISTS (SELECT FROM relation e WHERE e.tenant = r.tenant AND e.target = r.id)
