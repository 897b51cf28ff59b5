// Write nodes unless the mirror has them as new or newer. Returns the keys that were written.
UNWIND $rows AS row
MERGE (n:Mirrored {ten: row.ten, id: row.id})
WITH n, row
WHERE coalesce(n.gen, -1) < row.gen OR (n.gen = row.gen AND coalesce(n.ver, -1) <= row.upto)
WITH n, row, [label IN labels(n) WHERE label <> 'Mirrored' AND NOT label IN row.labels] AS old
REMOVE n:$(old)
SET n = row.p
SET n:$(row.labels)
RETURN collect(row.id) AS written
