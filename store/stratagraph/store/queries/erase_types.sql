-- How many of some records there are of each type.
SELECT type, count(*) AS records FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) GROUP BY type
