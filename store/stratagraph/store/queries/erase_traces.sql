-- By what provenance elsewhere may name records that go: their captures, and their refs where no other record has them.
SELECT NULL::bytea AS handle, c.id AS candidate
FROM candidate c WHERE c.tenant = :tenant AND c.record = ANY(CAST(:ids AS uuid[]))
UNION ALL
SELECT r.handle_key, NULL
FROM record r
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[])) AND r.handle_key IS NOT NULL
  AND (SELECT true FROM record o
    WHERE o.tenant = :tenant AND o.handle_key = r.handle_key AND o.id <> ALL(CAST(:ids AS uuid[])) LIMIT 1) IS NULL
