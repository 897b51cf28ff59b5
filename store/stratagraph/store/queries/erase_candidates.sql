-- The traces of captures go with what they became, and by the foreign key the idempotency keys that name them.
DELETE FROM candidate
WHERE tenant = :tenant AND (record = ANY(CAST(:ids AS uuid[])) OR id = ANY(CAST(:candidates AS uuid[])))
