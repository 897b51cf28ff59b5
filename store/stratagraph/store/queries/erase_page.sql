-- The next records of a scope, or of the whole tenant, that go.
SELECT id FROM record
WHERE tenant = :tenant AND (CAST(:scope AS integer) IS NULL OR scope = :scope) ORDER BY id LIMIT :limit
