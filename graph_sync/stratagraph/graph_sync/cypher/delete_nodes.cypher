// Replace nodes by tombstones, so that a late change cannot bring them back, and delete their relationships.
UNWIND $rows AS row
MERGE (n:Mirrored {ten: row.ten, id: row.id})
WITH n, row
WHERE coalesce(n.gen, -1) < row.gen OR (n.gen = row.gen AND coalesce(n.ver, -1) <= row.upto)
WITH n, row, [label IN labels(n) WHERE NOT label IN ['Mirrored', 'Tomb']] AS old
REMOVE n:$(old)
SET n = {ten: row.ten, id: row.id, ver: row.ver, gen: row.gen, dead: true, at: datetime()}
SET n:Tomb
WITH n
CALL (n) {
  MATCH (n)-[:HAS_STEP]->(step:PlanStep)
  OPTIONAL MATCH (step)-[:USES_TOOL]->(t)
  DETACH DELETE step
  WITH DISTINCT t WHERE t IS NOT NULL AND NOT EXISTS { (t)<-[:USES_TOOL]-() }
  DELETE t
}
OPTIONAL MATCH (n)-[r]-()
DELETE r
