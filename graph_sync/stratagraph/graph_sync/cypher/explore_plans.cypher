// How far the mirror is by its own account, as for links. Then plans whose steps use these tools in this order, newest
// first: from the rarest tool inwards, then step by step. Only which steps were met matters, not by how many ways, so
// each expansion is cut down to distinct steps.
CALL () {
  MATCH (c:SyncCheckpoint) WHERE c.k IN $checkpoints
  RETURN count(c) AS checkpoints, min(coalesce(c.gen, -1)) AS gen, min(coalesce(c.tick, -1)) AS tick
}
CALL () {
  UNWIND $ops AS op
  MATCH (tool:Tool {ten: $ten, name: op})
  WITH tool ORDER BY COUNT { (tool)<-[:USES_TOOL]-() } LIMIT 1
  MATCH (tool)<-[:USES_TOOL]-(:PlanStep)<-[:HAS_STEP]-(m:PlanGraph)
  WHERE m:Memory AND SIGHT
  WITH DISTINCT m
  WHERE all(op IN $ops WHERE EXISTS { (m)-[:HAS_STEP]->(:PlanStep {op: op}) })
  CALL (m) {
    MATCH (m)-[:HAS_STEP]->(step:PlanStep) WHERE step.op = $ops[0]
    WITH DISTINCT step
    CHAIN
    RETURN count(step) > 0 AS in_order
  }
  WITH m WHERE in_order
  WITH m ORDER BY m.id DESC LIMIT $most
  RETURN collect(m.id) AS id
}
RETURN checkpoints, gen, tick, id
