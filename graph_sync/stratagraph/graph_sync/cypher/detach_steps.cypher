// Delete the steps of records, and their relationships to tools. Return the keys of these tools.
// row: 0 ten, 1 id
UNWIND $rows AS row
MATCH (n:Mirrored {ten: row[0], id: row[1]}) USING INDEX SEEK n:Mirrored(ten, id)
OPTIONAL MATCH (n)-[u:USES_TOOL|IS_TOOL]->(own:Tool)
WITH n, collect(u) AS uses, collect([own.ten, own.name]) AS related
OPTIONAL MATCH (n)-[:HAS_STEP]->(step:PlanStep)
OPTIONAL MATCH (step)-[:USES_TOOL]->(t:Tool)
WITH uses, related, collect(DISTINCT [t.ten, t.name]) AS used, collect(DISTINCT step) AS steps
FOREACH (u IN uses | DELETE u)
FOREACH (step IN steps | DETACH DELETE step)
WITH related, used
UNWIND related + used AS tool
WITH DISTINCT tool WHERE tool[1] IS NOT NULL
RETURN collect(tool) AS tools
