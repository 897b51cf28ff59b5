// Sum up one bucket of a tenant's relations of one type.
MATCH ()-[r:`TYPE`]->() WHERE r.ten = $ten AND r.id > $after AND r.id <= $upto
RETURN count(r) AS count, coalesce(sum(r.ver), 0) AS versions, coalesce(sum(r.d), 0) AS digests
