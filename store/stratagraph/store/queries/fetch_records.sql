-- Records by id, whole up to the ceiling, heads only one level above it, nothing beyond.
SELECT {record_columns}
FROM record r JOIN salience s ON s.tenant = r.tenant AND s.id = r.id
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[])) AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[])))
  AND r.sensitivity <= :ceiling + 1
