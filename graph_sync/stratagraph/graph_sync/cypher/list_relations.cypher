// List the versions and digests of a bucket's relations of one type.
MATCH ()-[r:`TYPE`]->() WHERE r.ten = $ten AND r.id > $after AND r.id <= $upto
RETURN collect(r.id) AS id, collect(coalesce(r.ver, 0)) AS version, collect(coalesce(r.d, -1)) AS digest
