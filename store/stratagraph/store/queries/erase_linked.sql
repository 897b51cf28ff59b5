-- All records linked to some entities. Other entities that they themselves point to are named by them, not about them.
SELECT e.source AS id FROM relation e WHERE e.tenant = :tenant AND e.target = ANY(CAST(:ids AS uuid[]))
UNION
SELECT e.target FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.type <> 3
WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))
