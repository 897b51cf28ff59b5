-- One bucket: the next records of a tenant in key order, summed.
WITH bucket AS (
  SELECT r.id, r.row_version, {node_digest} AS digest FROM record r
  WHERE r.tenant = :tenant AND r.id > CAST(:after AS uuid) ORDER BY r.id LIMIT :size
)
SELECT count(*) AS count, coalesce(sum(row_version), 0)::bigint AS versions, coalesce(sum(digest), 0)::bigint AS digests,
  (SELECT id FROM bucket ORDER BY id DESC LIMIT 1) AS last
FROM bucket
