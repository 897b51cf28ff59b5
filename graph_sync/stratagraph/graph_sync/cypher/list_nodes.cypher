// List the versions and digests of a bucket's nodes.
MATCH (n:Mirrored) WHERE n.ten = $ten AND n.id > $after AND n.id <= $upto AND (n:Memory OR n:Past)
RETURN collect(n.id) AS id, collect(coalesce(n.ver, 0)) AS version, collect(coalesce(n.d, -1)) AS digest
