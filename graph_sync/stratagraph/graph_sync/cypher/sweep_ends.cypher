// What the new generation could not write, though it wrote relations there: a stub, until it can. Others write meanwhile,
// so each is locked, by setting what it has, and looked at again.
MATCH (n:Mirrored) WHERE n.ten = $ten AND n.id >= '' AND coalesce(n.gen, -1) < $gen AND EXISTS { (n)-[r]-() WHERE r.gen = $gen }
CALL (n) {
  SET n.gen = coalesce(n.gen, -1)
  WITH n WHERE n.gen < $gen
  OPTIONAL MATCH (n)-[:HAS_STEP]->(step:PlanStep)
  DETACH DELETE step
  WITH DISTINCT n
  WITH n, [label IN labels(n) WHERE label <> 'Mirrored'] AS old
  REMOVE n:$(old)
  SET n = {ten: n.ten, id: n.id, gen: $gen}
} IN TRANSACTIONS OF 1000 ROWS
