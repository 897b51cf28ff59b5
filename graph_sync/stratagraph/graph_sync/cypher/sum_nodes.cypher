// Sum up one bucket of a tenant's nodes. Values that the worker did not write count as -1: the sum must not fail.
MATCH (n:Mirrored) WHERE n.ten = $ten AND n.id > $after AND n.id <= $upto AND (n:Memory OR n:Past)
WITH CASE WHEN n.ver IS :: INTEGER NOT NULL AND 0 <= n.ver < 1099511627776 THEN n.ver ELSE -1 END AS version,
  CASE WHEN n.d IS :: INTEGER NOT NULL AND 0 <= n.d < 4294967296 THEN n.d ELSE -1 END AS digest
RETURN count(*) AS count, coalesce(sum(version), 0) AS versions, coalesce(sum(digest), 0) AS digests
