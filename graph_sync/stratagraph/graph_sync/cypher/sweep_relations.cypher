// What an older generation left of one tenant's relations, of one type.
MATCH ()-[r:`TYPE`]->() WHERE r.ten = $ten AND r.id >= '' AND r.gen < $gen
CALL (r) { DELETE r } IN TRANSACTIONS OF 1000 ROWS
