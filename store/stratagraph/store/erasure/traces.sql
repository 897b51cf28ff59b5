-- fetch_traces --
-- Fetch the captures of the given records, and their handle keys where no other record has the same.
SELECT NULL::bytea AS handle, c.id AS candidate
FROM candidate c WHERE c.tenant = :tenant AND c.record = ANY(CAST(:ids AS uuid[]))
UNION ALL
SELECT r.handle_key, NULL
FROM record r
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[])) AND r.handle_key IS NOT NULL
  AND (SELECT true FROM record o
    WHERE o.tenant = :tenant AND o.handle_key = r.handle_key AND o.id <> ALL(CAST(:ids AS uuid[])) LIMIT 1) IS NULL
