// Replace the steps of plans, after their nodes were written.
UNWIND $rows AS row
MATCH (p:Mirrored {ten: row.ten, id: row.id})
CALL (p) {
  MATCH (p)-[:HAS_STEP]->(old:PlanStep)
  OPTIONAL MATCH (old)-[:USES_TOOL]->(t)
  DETACH DELETE old
  WITH DISTINCT t WHERE t IS NOT NULL AND NOT EXISTS { (t)<-[:USES_TOOL]-() }
  DELETE t
}
CALL (p, row) {
  UNWIND row.steps AS step
  CREATE (p)-[:HAS_STEP]->(s:PlanStep {ten: row.ten, id: step.id, op: step.op, name: step.op, acl: row.acl})
  MERGE (t:Tool {ten: row.ten, name: step.op})
  CREATE (s)-[:USES_TOOL]->(t)
}
CALL (row) {
  UNWIND row.control AS link
  MATCH (a:PlanStep {ten: row.ten, id: link.source}), (b:PlanStep {ten: row.ten, id: link.target})
  CREATE (a)-[:PRECEDES]->(b)
}
CALL (row) {
  UNWIND row.data AS link
  MATCH (a:PlanStep {ten: row.ten, id: link.source}), (b:PlanStep {ten: row.ten, id: link.target})
  CREATE (a)-[:FEEDS]->(b)
}
