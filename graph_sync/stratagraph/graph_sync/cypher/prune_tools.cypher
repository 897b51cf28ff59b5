// Delete a tenant's tools that neither a record nor a step uses, after nodes of older generations were deleted. Other
// workers write at the same time, so each is locked, by a write that changes nothing, and checked again.
MATCH (t:Tool) WHERE t.ten = $ten AND t.name >= '' AND NOT EXISTS { (t)<-[:USES_TOOL]-() }
CALL (t) {
  SET t.ten = $ten
  WITH t WHERE NOT EXISTS { (t)<-[:USES_TOOL]-() }
  DETACH DELETE t
} IN TRANSACTIONS OF 1000 ROWS
