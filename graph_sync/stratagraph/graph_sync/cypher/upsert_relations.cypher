// Write relations of one type. An end that is not there yet becomes a stub, which no reader sees; a relation of a
// dead one is late.
UNWIND $rows AS row
OPTIONAL MATCH (t:RelTomb {ten: row.ten, id: row.id})
WITH row, t
WHERE t IS NULL OR t.gen < row.gen OR t.ver <= row.upto
MERGE (a:Mirrored {ten: row.ten, id: row.src})
MERGE (b:Mirrored {ten: row.ten, id: row.dst})
WITH row, a, b
WHERE a.dead IS NULL AND b.dead IS NULL
OPTIONAL MATCH ()-[x:`TYPE` {ten: row.ten, id: row.id}]->()
FOREACH (_ IN CASE WHEN x IS NULL THEN [1] ELSE [] END |
  CREATE (a)-[r:`TYPE`]->(b) SET r = row.p)
FOREACH (_ IN CASE WHEN x IS NOT NULL AND (x.gen < row.gen OR (x.gen = row.gen AND x.ver <= row.upto)) THEN [1] ELSE [] END |
  SET x = row.p)
