-- A bucket's live relations one by one. Without :upto, the last bucket has no end.
SELECT e.id, e.row_version AS version, {relation_digest} AS digest FROM relation e
WHERE e.tenant = :tenant AND e.id > CAST(:after AS uuid) AND (CAST(:upto AS uuid) IS NULL OR e.id <= CAST(:upto AS uuid))
  AND e.ended_at IS NULL
ORDER BY e.id
