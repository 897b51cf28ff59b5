-- The newest of the newest as of an instant. Ids are made in the order of time, so those below the instant's are met
-- first; bounded before anything is filtered.
SELECT r.id FROM (
  SELECT tenant, id, type, scope, sensitivity, state, created_at, updated_at, occurred_at FROM record
  WHERE tenant = :tenant AND id < CAST(:below AS uuid) ORDER BY id DESC LIMIT :window
) r
CROSS JOIN LATERAL (
  SELECT r.scope, r.sensitivity, r.state, r.occurred_at WHERE r.updated_at <= :at
  UNION ALL
  (SELECT h.scope, h.sensitivity, h.state, h.occurred_at FROM record_history h
   WHERE r.updated_at > :at AND h.tenant = r.tenant AND h.id = r.id AND h.from_at <= :at AND h.to_at > :at
   ORDER BY h.row_version DESC LIMIT 1)
) v
WHERE r.created_at <= :at AND r.type = ANY(CAST(:types AS smallint[])) AND v.state <= 2
  AND (:all_scopes OR (r.scope = ANY(CAST(:scopes AS integer[])) AND v.scope = ANY(CAST(:scopes AS integer[]))))
  AND greatest(r.sensitivity, v.sensitivity) <= :ceiling
ORDER BY v.occurred_at DESC, r.id DESC LIMIT :limit
