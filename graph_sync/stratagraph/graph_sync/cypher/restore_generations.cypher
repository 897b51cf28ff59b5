// Set the generations of single tenants to those of Postgres. row: 0 ten, 1 gen (null: there must be none)
UNWIND $rows AS row
OPTIONAL MATCH (old:SyncGeneration) WHERE old.ten = row[0] AND row[1] IS NULL
DETACH DELETE old
WITH DISTINCT row WHERE row[1] IS NOT NULL
MERGE (g:SyncGeneration {ten: row[0]}) SET g = {ten: row[0], gen: row[1]}
