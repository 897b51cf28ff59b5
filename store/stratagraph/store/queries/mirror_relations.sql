SELECT {relation_columns}
FROM relation e
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS asked(tenant, id)
  ON e.tenant = asked.tenant AND e.id = asked.id
