-- Records in full sight by id, and by the keyed hash of a ref, newest first.
SELECT id, scope, sensitivity, NULL::bytea AS handle_key, created_at FROM record
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
  AND (:all_scopes OR scope = ANY(CAST(:scopes AS integer[]))) AND sensitivity <= :ceiling
UNION ALL
SELECT id, scope, sensitivity, handle_key, created_at FROM record
WHERE tenant = :tenant AND handle_key = ANY(CAST(:keys AS bytea[]))
  AND (:all_scopes OR scope = ANY(CAST(:scopes AS integer[]))) AND sensitivity <= :ceiling
ORDER BY created_at DESC, id DESC
