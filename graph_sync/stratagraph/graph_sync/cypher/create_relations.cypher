// Create the relations of one type that are missing, whose ends are there, and which have no tombstone. Return the ids of
// those created, or null if these are all.
// row: as in upsert_relations
UNWIND $rows AS row
MATCH (a:Mirrored {ten: row[0], id: row[4]}) USING INDEX SEEK a:Mirrored(ten, id)
MATCH (b:Mirrored {ten: row[0], id: row[5]}) USING INDEX SEEK b:Mirrored(ten, id)
WHERE NOT a:Tomb AND NOT b:Tomb
OPTIONAL MATCH (t:RelTomb {ten: row[0], id: row[1]}) USING INDEX SEEK t:RelTomb(ten, id)
OPTIONAL MATCH ()-[x:`TYPE` {ten: row[0], id: row[1]}]->() USING INDEX SEEK x:`TYPE`(ten, id)
WITH row, a, b WHERE t IS NULL AND x IS NULL
CREATE (a)-[:`TYPE` {
  ten: row[0], id: row[1], gen: row[2], w: row[6],
  created_at: datetime({epochSeconds: row[7], nanosecond: row[8]}),
  ver: row[9], d: row[10]
}]->(b)
WITH collect(row[1]) AS created
RETURN CASE WHEN size(created) < size($rows) THEN created END AS created
