// List the versions and digests of a bucket's relations of one type; -1 in place of values that the worker did not write.
MATCH ()-[r:`TYPE`]->() WHERE r.ten = $ten AND r.id > $after AND r.id <= $upto AND r.id =~ $uuid
RETURN collect(r.id) AS id, collect(CASE WHEN r.ver IS :: INTEGER NOT NULL THEN r.ver ELSE -1 END) AS version,
  collect(CASE WHEN r.d IS :: INTEGER NOT NULL THEN r.d ELSE -1 END) AS digest
