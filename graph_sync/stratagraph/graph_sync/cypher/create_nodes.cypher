// Create the nodes that are missing, without the comparisons of upsert_nodes. Return the ids of those created, or null if
// these are all.
// row: as in upsert_nodes
UNWIND $rows AS row
OPTIONAL MATCH (n:Mirrored {ten: row[0], id: row[1]}) USING INDEX SEEK n:Mirrored(ten, id)
WITH row WHERE n IS NULL
CREATE (:Mirrored:$(row[4]) {
  ten: row[0], id: row[1], gen: row[2], type: row[5], state: row[6], acl: row[7],
  created_at: datetime({epochSeconds: row[8], nanosecond: row[9]}),
  occurred_at: datetime({epochSeconds: row[10], nanosecond: row[11]}),
  ver: row[12], d: row[13], name: row[14], valid_from: row[15], valid_to: row[16], tool: row[17], failed: row[18],
  plan: row[19], version: row[20], executed: row[21], failure_rate: row[22]
})
WITH collect(row[1]) AS created
RETURN CASE WHEN size(created) < size($rows) THEN created END AS created
