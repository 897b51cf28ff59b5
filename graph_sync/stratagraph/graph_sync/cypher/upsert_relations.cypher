// Write relations of one type. An end that is not there yet becomes a stub, which no reader sees; a relation whose end is
// a tombstone is late and not written.
// row: 0 ten, 1 id, 2 gen, 3 upto, 4 src, 5 dst, 6 w, 7+8 created_at, 9 ver, 10 d
UNWIND $rows AS row
OPTIONAL MATCH (t:RelTomb {ten: row[0], id: row[1]}) USING INDEX SEEK t:RelTomb(ten, id)
WITH row, t
WHERE t IS NULL OR t.gen < row[2] OR t.ver <= row[3]
MERGE (a:Mirrored {ten: row[0], id: row[4]})
MERGE (b:Mirrored {ten: row[0], id: row[5]})
WITH row, a, b, {
  ten: row[0], id: row[1], gen: row[2], w: row[6],
  created_at: datetime({epochSeconds: row[7], nanosecond: row[8]}),
  ver: row[9], d: row[10]
} AS p
WHERE a.dead IS NULL AND b.dead IS NULL
OPTIONAL MATCH ()-[x:`TYPE` {ten: row[0], id: row[1]}]->() USING INDEX SEEK x:`TYPE`(ten, id)
FOREACH (_ IN CASE WHEN x IS NULL THEN [1] ELSE [] END |
  CREATE (a)-[r:`TYPE`]->(b) SET r = p)
FOREACH (_ IN CASE WHEN x IS NOT NULL AND (x.gen < row[2] OR (x.gen = row[2] AND x.ver <= row[3])) THEN [1] ELSE [] END |
  SET x = p)
