-- Heads of records in full sight, for ranking more of them than will be shown.
SELECT {head_columns}, NULL::text AS name, NULL::text AS text, NULL::jsonb AS payload, NULL::jsonb AS provenance,
  NULL::jsonb AS interpretation, NULL::bytea AS sealed
FROM record_head h
WHERE h.tenant = :tenant AND h.id = ANY(CAST(:ids AS uuid[])) AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[])))
  AND h.sensitivity <= :ceiling
