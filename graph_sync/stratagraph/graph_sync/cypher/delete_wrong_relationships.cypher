// Delete relationships of one type that have the key of a relation and cannot be corrected in place. Internal ids are used
// again, so the key is checked. row: 0 internal id, 1 ten, 2 id
UNWIND $rows AS row
MATCH ()-[r:`TYPE`]->() WHERE id(r) = row[0] AND r.ten = row[1] AND r.id = row[2]
DELETE r
