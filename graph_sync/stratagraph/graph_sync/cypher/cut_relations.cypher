// Delete relations, where they are of this type.
UNWIND $rows AS row
MATCH ()-[r:`TYPE` {ten: row.ten, id: row.id}]->()
WHERE r.gen < row.gen OR r.ver <= row.upto
DELETE r
