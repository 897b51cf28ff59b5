// Delete the given relations that are of one type.
UNWIND $rows AS row
MATCH ()-[r:`TYPE` {ten: row.ten, id: row.id}]->() USING INDEX SEEK r:`TYPE`(ten, id)
WHERE r.gen < row.gen OR r.ver <= row.upto
DELETE r
