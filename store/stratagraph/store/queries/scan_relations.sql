-- The next live relations in key order.
SELECT {relation_columns}
FROM relation e
WHERE (e.tenant, e.id) > (:tenant, CAST(:id AS uuid)) AND e.tenant <= :last_tenant AND e.ended_at IS NULL
ORDER BY e.tenant, e.id LIMIT :page
