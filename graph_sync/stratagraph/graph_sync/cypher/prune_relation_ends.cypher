// Turn a tenant's nodes that the new generation did not write, but whose relations it wrote, into stubs, until their rows
// are written. Other workers write at the same time, so each node is locked, by a write that changes nothing, and its
// generation checked again.
MATCH (n:Mirrored) WHERE n.ten = $ten AND n.id >= '' AND coalesce(n.gen, -1) < $gen AND EXISTS { (n)-[r]-() WHERE r.gen = $gen }
CALL (n) {
  SET n.gen = coalesce(n.gen, -1)
  WITH n WHERE n.gen < $gen
  OPTIONAL MATCH (n)-[:HAS_STEP]->(step:PlanStep)
  OPTIONAL MATCH (n)-[u:USES_TOOL|IS_TOOL]->(:Tool)
  DELETE u
  DETACH DELETE step
  WITH DISTINCT n
  WITH n, [label IN labels(n) WHERE label <> 'Mirrored'] AS old
  REMOVE n:$(old)
  SET n = {ten: n.ten, id: n.id, gen: $gen}
} IN TRANSACTIONS OF 1000 ROWS
