// Replace nodes by tombstones, so that a late change cannot bring them back, and delete their steps and relationships.
// Return the keys of the tools that they used.
UNWIND $rows AS row
MERGE (n:Mirrored {ten: row.ten, id: row.id})
WITH n, row
WHERE coalesce(n.gen, -1) < row.gen OR (n.gen = row.gen AND coalesce(n.ver, -1) <= row.upto)
WITH n, row, [label IN labels(n) WHERE NOT label IN ['Mirrored', 'Tomb']] AS old
REMOVE n:$(old)
SET n = {ten: row.ten, id: row.id, ver: row.ver, gen: row.gen, d: row.d, dead: true, at: datetime()}
SET n:Tomb
WITH n
OPTIONAL MATCH (n)-[:HAS_STEP]->(step:PlanStep)
OPTIONAL MATCH (step)-[:USES_TOOL]->(t:Tool)
WITH n, collect(DISTINCT step) AS steps, collect(DISTINCT [t.ten, t.name]) AS used
OPTIONAL MATCH (n)-[:USES_TOOL|IS_TOOL]->(own:Tool)
WITH n, steps, used, collect(DISTINCT [own.ten, own.name]) AS related
OPTIONAL MATCH (n)-[r]-()
WITH steps, used, related, collect(r) AS relations
FOREACH (r IN relations | DELETE r)
FOREACH (step IN steps | DETACH DELETE step)
WITH used, related
UNWIND used + related AS tool
WITH DISTINCT tool WHERE tool[1] IS NOT NULL
RETURN collect(tool) AS tools
