// Sum up one bucket of a tenant's nodes.
MATCH (n:Mirrored) WHERE n.ten = $ten AND n.id > $after AND n.id <= $upto AND (n:Memory OR n:Past)
RETURN count(n) AS count, coalesce(sum(n.ver), 0) AS versions, coalesce(sum(n.d), 0) AS digests
