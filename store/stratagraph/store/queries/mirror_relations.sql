SELECT e.tenant, e.id, e.source, e.target, e.predicate, e.weight, e.created_at, e.ended_at, e.row_version
FROM relation e
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS asked(tenant, id)
  ON e.tenant = asked.tenant AND e.id = asked.id
