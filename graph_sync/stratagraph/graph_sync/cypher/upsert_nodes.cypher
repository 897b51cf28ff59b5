// Write nodes, unless the mirror has the same or a newer version. Return the ids that were written, and of these the ids
// of nodes that had steps or tools, which must be replaced.
// row: 0 ten, 1 id, 2 gen, 3 upto, 4 labels, 5 type, 6 state, 7 acl, 8+9 created_at, 10+11 occurred_at, 12 ver, 13 d,
// 14 name, 15 valid_from, 16 valid_to (microseconds since 1970, null without a bound), 17 tool, 18 failed,
// 19 plan, 20 version, 21 executed, 22 failure_rate
UNWIND $rows AS row
MERGE (n:Mirrored {ten: row[0], id: row[1]})
WITH n, row
WHERE coalesce(n.gen, -1) < row[2] OR (n.gen = row[2] AND coalesce(n.ver, -1) <= row[3])
WITH n, row, [label IN labels(n) WHERE label <> 'Mirrored' AND NOT label IN row[4]] AS old,
  n.ver IS NOT NULL AND EXISTS { (n)-[:HAS_STEP|USES_TOOL|IS_TOOL]->(:PlanStep|Tool) } AS had
REMOVE n:$(old)
SET n = {
  ten: row[0], id: row[1], gen: row[2], type: row[5], state: row[6], acl: row[7],
  created_at: datetime({epochSeconds: row[8], nanosecond: row[9]}),
  occurred_at: datetime({epochSeconds: row[10], nanosecond: row[11]}),
  ver: row[12], d: row[13], name: row[14], valid_from: row[15], valid_to: row[16], tool: row[17], failed: row[18],
  plan: row[19], version: row[20], executed: row[21], failure_rate: row[22]
}
SET n:$(row[4])
RETURN collect(row[1]) AS written, collect(CASE WHEN had THEN row[1] END) AS had
