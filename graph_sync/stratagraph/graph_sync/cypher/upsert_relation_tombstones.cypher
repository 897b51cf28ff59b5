// Write tombstones of relations, so that a late change cannot bring them back.
UNWIND $rows AS row
MERGE (t:RelTomb {ten: row.ten, id: row.id})
WITH t, row
WHERE coalesce(t.gen, -1) < row.gen OR (t.gen = row.gen AND coalesce(t.ver, -1) < row.ver)
SET t.ver = row.ver, t.gen = row.gen, t.d = row.d, t.at = datetime()
