// Delete a tenant's nodes of older generations that the new one did not write. Other workers write at the same time, often
// relations to nodes that are still to come; so each node is locked, by a write that changes nothing, and checked again.
MATCH (n:Mirrored) WHERE n.ten = $ten AND n.id >= '' AND coalesce(n.gen, -1) < $gen
CALL (n) {
  SET n.gen = coalesce(n.gen, -1)
  WITH n WHERE n.gen < $gen AND NOT EXISTS { (n)-[r]-() WHERE r.gen >= $gen }
  OPTIONAL MATCH (n)-[:HAS_STEP]->(step:PlanStep)
  DETACH DELETE step, n
} IN TRANSACTIONS OF 1000 ROWS
