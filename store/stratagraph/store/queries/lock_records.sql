-- The rows about to be changed, locked in the order every writer takes.
SELECT id, type, scope, sensitivity, state, version, updated_at
FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
ORDER BY id FOR UPDATE
