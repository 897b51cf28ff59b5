-- A bucket's records one by one. Without :upto, the last bucket has no end.
SELECT r.id, r.row_version AS version, {node_digest} AS digest FROM record r
WHERE r.tenant = :tenant AND r.id > CAST(:after AS uuid) AND (CAST(:upto AS uuid) IS NULL OR r.id <= CAST(:upto AS uuid))
ORDER BY r.id
