-- Of some captures those that are still known, and that did not become a record that goes.
SELECT id FROM candidate
WHERE tenant = :tenant AND id = ANY(CAST(:candidates AS uuid[])) AND (record IS NULL OR record <> ALL(CAST(:ids AS uuid[])))
