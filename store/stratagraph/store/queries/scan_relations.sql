SELECT tenant, id, row_version AS version FROM relation
WHERE (tenant, id) > (:tenant, CAST(:id AS uuid)) ORDER BY tenant, id LIMIT :page
