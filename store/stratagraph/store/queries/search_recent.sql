-- The newest of the newest: bounded before anything is filtered.
SELECT id FROM (
  SELECT id, scope, sensitivity, state, type, occurred_at FROM record
  WHERE tenant = :tenant ORDER BY occurred_at DESC, id DESC LIMIT :window
) newest
WHERE (:all_scopes OR scope = ANY(CAST(:scopes AS integer[]))) AND sensitivity <= :ceiling AND state <= 2
  AND type = ANY(CAST(:types AS smallint[]))
ORDER BY occurred_at DESC, id DESC LIMIT :limit
