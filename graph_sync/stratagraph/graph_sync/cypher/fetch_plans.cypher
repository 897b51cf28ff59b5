// Fetch the position of the mirror, as fetch_links does, then the newest plans whose steps perform the given operations in the
// given order. The search begins at the rarest operation, of which at most 1,000 steps are counted, and continues step by
// step. Only the steps reached matter, not the number of ways to them, so each expansion is reduced to distinct steps.
CALL () {
  MATCH (c:SyncCheckpoint) WHERE c.k IN $checkpoints
  RETURN count(c) AS checkpoints, min(coalesce(c.gen, -1)) AS gen, min(coalesce(c.snapshot, -1)) AS snapshot
}
CALL () {
  UNWIND $ops AS op
  CALL (op) { MATCH (s:PlanStep {ten: $ten, op: op}) WITH s LIMIT 1000 RETURN count(s) AS steps }
  WITH op ORDER BY steps LIMIT 1
  MATCH (:PlanStep {ten: $ten, op: op})<-[:HAS_STEP]-(m:PlanGraph)
  WHERE m:Memory AND VISIBLE
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
RETURN checkpoints, gen, snapshot, id
