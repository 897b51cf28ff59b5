// Create the relations of one type that are missing, whose ends are there, and which have no tombstone. Return the ids of
// those created.
// row: as in upsert_relations
UNWIND $rows AS row
MATCH (a:Mirrored {ten: row[0], id: row[4]})
MATCH (b:Mirrored {ten: row[0], id: row[5]})
WHERE NOT a:Tomb AND NOT b:Tomb
OPTIONAL MATCH (t:RelTomb {ten: row[0], id: row[1]})
OPTIONAL MATCH ()-[x:`TYPE` {ten: row[0], id: row[1]}]->()
WITH row, a, b WHERE t IS NULL AND x IS NULL
CREATE (a)-[:`TYPE` {
  ten: row[0], id: row[1], gen: row[2], w: row[6],
  created_at: datetime({epochSeconds: row[7], nanosecond: row[8]}),
  ver: row[9], d: row[10]
}]->(b)
RETURN collect(row[1]) AS created
