-- How many records of each type a scope, or the whole tenant, has.
SELECT type, count(*) AS records FROM record
WHERE tenant = :tenant AND (CAST(:scope AS integer) IS NULL OR scope = :scope) GROUP BY type
