-- Relations by id: one end in full sight, the other at least redacted.
SELECT e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM relation_in_sight e
WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
  AND (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
  AND least(e.source_sensitivity, e.target_sensitivity) <= :ceiling
  AND greatest(e.source_sensitivity, e.target_sensitivity) <= :ceiling + 1
