// List the versions and digests of a bucket's nodes; -1 in place of values that the worker did not write.
MATCH (n:Mirrored) WHERE n.ten = $ten AND n.id > $after AND n.id <= $upto AND (n:Memory OR n:Past) AND n.id =~ $uuid
RETURN collect(n.id) AS id, collect(CASE WHEN n.ver IS :: INTEGER NOT NULL THEN n.ver ELSE -1 END) AS version,
  collect(CASE WHEN n.d IS :: INTEGER NOT NULL THEN n.d ELSE -1 END) AS digest
