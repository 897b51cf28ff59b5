-- Records by id, whole up to the ceiling, heads only one level above it, nothing beyond.
SELECT {record_columns}
FROM record_head h LEFT JOIN record r ON r.tenant = h.tenant AND r.id = h.id AND r.sensitivity <= :ceiling
WHERE h.tenant = :tenant AND h.id = ANY(CAST(:ids AS uuid[])) AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[])))
  AND h.sensitivity <= :ceiling + 1
