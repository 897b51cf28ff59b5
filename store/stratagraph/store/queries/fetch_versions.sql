-- The versions of one record, newest first, that the caller may see in full by then's trust and by now's.
SELECT v.row_version, v.from_at, v.to_at
FROM record r
CROSS JOIN LATERAL (
  SELECT r.row_version, r.updated_at AS from_at, NULL::timestamptz AS to_at, r.scope, r.sensitivity
  UNION ALL
  SELECT h.row_version, h.from_at, h.to_at, h.scope, h.sensitivity
  FROM record_history h WHERE h.tenant = r.tenant AND h.id = r.id
) v
WHERE r.tenant = :tenant AND r.id = :id AND (CAST(:before AS bigint) IS NULL OR v.row_version < CAST(:before AS bigint))
  AND (:all_scopes OR (r.scope = ANY(CAST(:scopes AS integer[])) AND v.scope = ANY(CAST(:scopes AS integer[]))))
  AND greatest(r.sensitivity, v.sensitivity) <= :ceiling
ORDER BY v.row_version DESC LIMIT :first
