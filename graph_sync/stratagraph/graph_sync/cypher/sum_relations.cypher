// Sum up one bucket of a tenant's relations of one type. Values that the worker did not write count as -1.
MATCH ()-[r:`TYPE`]->() WHERE r.ten = $ten AND r.id > $after AND r.id <= $upto
WITH CASE WHEN r.ver IS :: INTEGER NOT NULL AND 0 <= r.ver < 1099511627776 THEN r.ver ELSE -1 END AS version,
  CASE WHEN r.d IS :: INTEGER NOT NULL AND 0 <= r.d < 4294967296 THEN r.d ELSE -1 END AS digest
RETURN count(*) AS count, coalesce(sum(version), 0) AS versions, coalesce(sum(digest), 0) AS digests
