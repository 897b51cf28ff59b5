SELECT {node_columns}
FROM record r
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS asked(tenant, id)
  ON r.tenant = asked.tenant AND r.id = asked.id
