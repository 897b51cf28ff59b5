-- The next records in key order, of one tenant or of all, for reading everything afresh.
SELECT {node_columns}
FROM record r
WHERE (r.tenant, r.id) > (:tenant, CAST(:id AS uuid)) AND r.tenant <= :last_tenant
ORDER BY r.tenant, r.id LIMIT :page
