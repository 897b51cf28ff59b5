-- One bucket: the next live relations of a tenant in key order, summed.
WITH bucket AS (
  SELECT e.id, e.row_version, {relation_digest} AS digest FROM relation e
  WHERE e.tenant = :tenant AND e.id > CAST(:after AS uuid) AND e.ended_at IS NULL ORDER BY e.id LIMIT :size
)
SELECT count(*) AS count, coalesce(sum(row_version), 0)::bigint AS versions, coalesce(sum(digest), 0)::bigint AS digests,
  (SELECT id FROM bucket ORDER BY id DESC LIMIT 1) AS last
FROM bucket
