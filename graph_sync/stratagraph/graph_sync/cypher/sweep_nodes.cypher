// What an older generation left and the new one did not write.
MATCH (n:Mirrored) WHERE coalesce(n.gen, -1) < $gen
CALL (n) {
  OPTIONAL MATCH (n)-[:HAS_STEP]->(step:PlanStep)
  DETACH DELETE step, n
} IN TRANSACTIONS OF 1000 ROWS
