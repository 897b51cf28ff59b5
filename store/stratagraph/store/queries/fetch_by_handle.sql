-- Records by the keyed hash of their plan_id, skill_name or ref; newest first.
SELECT {record_columns}
FROM record r JOIN record_head h ON h.tenant = r.tenant AND h.id = r.id
WHERE r.tenant = :tenant AND r.handle_key = ANY(CAST(:keys AS bytea[])) AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[])))
  AND r.sensitivity <= :ceiling
ORDER BY r.created_at DESC, r.id DESC LIMIT 100
