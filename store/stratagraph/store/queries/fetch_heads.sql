-- Heads of records in full sight, for ranking more of them than will be shown.
SELECT {head_columns}, NULL::text AS name, NULL::text AS text, NULL::jsonb AS payload, NULL::jsonb AS provenance,
  NULL::jsonb AS interpretation
FROM record r JOIN salience s ON s.tenant = r.tenant AND s.id = r.id
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[])) AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[])))
  AND r.sensitivity <= :ceiling
