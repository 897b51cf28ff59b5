-- Relations by id: one end in full sight, the other at least redacted.
SELECT e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM relation e
JOIN record a ON a.tenant = e.tenant AND a.id = e.source
JOIN record b ON b.tenant = e.tenant AND b.id = e.target
WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
  AND (:all_scopes OR (a.scope = ANY(CAST(:scopes AS integer[])) AND b.scope = ANY(CAST(:scopes AS integer[]))))
  AND least(a.sensitivity, b.sensitivity) <= :ceiling AND greatest(a.sensitivity, b.sensitivity) <= :ceiling + 1
