// Delete a tenant's relations of one type that are of older generations. Other workers write at the same time, so each
// is locked, by a write that changes nothing, and its generation checked again.
MATCH ()-[r:`TYPE`]->() WHERE r.ten = $ten AND r.id >= '' AND r.gen < $gen
CALL (r) {
  SET r.gen = r.gen
  WITH r WHERE r.gen < $gen
  DELETE r
} IN TRANSACTIONS OF 1000 ROWS
