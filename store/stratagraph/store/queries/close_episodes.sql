-- Close episodes (again, when an outcome comes to one that silence had closed) and return what describes them.
UPDATE episode e
SET closed_at = coalesce(e.closed_at, :at)
FROM record r
WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[])) AND r.tenant = e.tenant AND r.id = e.id
RETURNING e.id, e.events, e.outcome, r.payload, r.sealed
