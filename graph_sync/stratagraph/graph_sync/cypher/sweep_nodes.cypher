// What an older generation left of one tenant and the new one did not write. Others write meanwhile, and first of all
// relations to what is still on its way: so each is locked, by setting what it has, and looked at again.
MATCH (n:Mirrored) WHERE n.ten = $ten AND n.id >= '' AND coalesce(n.gen, -1) < $gen
CALL (n) {
  SET n.gen = coalesce(n.gen, -1)
  WITH n WHERE n.gen < $gen AND NOT EXISTS { (n)-[r]-() WHERE r.gen >= $gen }
  OPTIONAL MATCH (n)-[:HAS_STEP]->(step:PlanStep)
  OPTIONAL MATCH (step)-[:USES_TOOL]->(t)
  DETACH DELETE step, n
  WITH DISTINCT t WHERE t IS NOT NULL AND NOT EXISTS { (t)<-[:USES_TOOL]-() }
  DELETE t
} IN TRANSACTIONS OF 1000 ROWS
