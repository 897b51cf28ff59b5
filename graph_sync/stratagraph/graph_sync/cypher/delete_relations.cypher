// Delete relations of one type, leaving tombstones.
UNWIND $rows AS row
MERGE (t:RelTomb {ten: row.ten, id: row.id})
WITH t, row
WHERE coalesce(t.gen, -1) < $gen OR (t.gen = $gen AND coalesce(t.ver, -1) < row.ver)
SET t.ver = row.ver, t.gen = $gen, t.at = datetime()
WITH row
OPTIONAL MATCH ()-[r:`TYPE` {ten: row.ten, id: row.id}]->()
WHERE r.gen < $gen OR r.ver <= row.ver
DELETE r
