// What an older generation left of one tenant's relations, of one type. Others write meanwhile, so each is locked, by
// setting what it has, and looked at again.
MATCH ()-[r:`TYPE`]->() WHERE r.ten = $ten AND r.id >= '' AND r.gen < $gen
CALL (r) {
  SET r.gen = r.gen
  WITH r WHERE r.gen < $gen
  DELETE r
} IN TRANSACTIONS OF 1000 ROWS
