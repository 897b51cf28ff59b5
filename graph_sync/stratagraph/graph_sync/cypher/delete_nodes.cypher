// Leave a tombstone, so that a late change cannot bring the node back, and cut its edges.
UNWIND $rows AS row
MERGE (n:Mirrored {ten: row.ten, id: row.id})
WITH n, row
WHERE coalesce(n.gen, -1) < $gen OR (n.gen = $gen AND coalesce(n.ver, -1) <= row.ver)
WITH n, row, [label IN labels(n) WHERE label <> 'Mirrored'] AS old
REMOVE n:$(old)
SET n = {ten: row.ten, id: row.id, ver: row.ver, gen: $gen, bkt: row.bkt, dead: true}
WITH n
CALL (n) {
  MATCH (n)-[:HAS_STEP]->(step:PlanStep)-[:USES_TOOL]->(t)
  DETACH DELETE step
  WITH DISTINCT t WHERE NOT EXISTS { (t)<-[:USES_TOOL]-() }
  DELETE t
}
OPTIONAL MATCH (n)-[r]-()
DELETE r
