-- The next records in key order, for reading everything afresh.
SELECT tenant, id, row_version AS version FROM record
WHERE (tenant, id) > (:tenant, CAST(:id AS uuid)) ORDER BY tenant, id LIMIT :page
