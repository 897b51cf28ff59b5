// Write the steps of plans, the links between them, and the relationships to tools, all of which exist by now.
// row: 0 ten, 1 id, 2 steps (id, op, tool, acl, executed, failed), 3 PRECEDES, 4 FEEDS (source, target), 5 called, 6 the entity's tool
UNWIND $rows AS row
MATCH (n:Mirrored {ten: row[0], id: row[1]}) USING INDEX SEEK n:Mirrored(ten, id)
CALL (n, row) {
  UNWIND row[2] AS step
  MATCH (t:Tool {ten: row[0], name: step[2]}) USING INDEX SEEK t:Tool(ten, name)
  CREATE (n)-[:HAS_STEP]->(s:PlanStep {
    ten: row[0], id: step[0], op: step[1], name: step[1], acl: step[3], executed: step[4], failed: step[5]
  })
  CREATE (s)-[:USES_TOOL]->(t)
}
CALL (row) {
  UNWIND row[3] AS link
  MATCH (a:PlanStep {ten: row[0], id: link[0]}) USING INDEX SEEK a:PlanStep(ten, id)
  MATCH (b:PlanStep {ten: row[0], id: link[1]}) USING INDEX SEEK b:PlanStep(ten, id)
  CREATE (a)-[:PRECEDES]->(b)
}
CALL (row) {
  UNWIND row[4] AS link
  MATCH (a:PlanStep {ten: row[0], id: link[0]}) USING INDEX SEEK a:PlanStep(ten, id)
  MATCH (b:PlanStep {ten: row[0], id: link[1]}) USING INDEX SEEK b:PlanStep(ten, id)
  CREATE (a)-[:FEEDS]->(b)
}
CALL (n, row) {
  UNWIND row[5] AS name
  MATCH (t:Tool {ten: row[0], name: name}) USING INDEX SEEK t:Tool(ten, name)
  CREATE (n)-[:USES_TOOL]->(t)
}
CALL (n, row) {
  UNWIND row[6] AS name
  MATCH (t:Tool {ten: row[0], name: name}) USING INDEX SEEK t:Tool(ten, name)
  MERGE (n)-[:IS_TOOL]->(t)
}
