-- A page of records, newest first. The keyset walks record_listed_ix; filters beyond it cost what they skip.
SELECT {record_columns}
FROM record_head h LEFT JOIN record r ON r.tenant = h.tenant AND r.id = h.id AND r.sensitivity <= :ceiling
WHERE h.tenant = :tenant AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling + 1
  AND (CAST(:before AS uuid) IS NULL OR h.id < CAST(:before AS uuid))
  AND h.type = ANY(CAST(:types AS smallint[]))
  AND (CAST(:scope AS text) IS NULL
       OR h.scope = (SELECT id FROM scope WHERE scope.tenant = :tenant AND scope.name = CAST(:scope AS text)))
  AND (CAST(:tag AS text) IS NULL OR CAST(:tag AS text) = ANY(h.tags))
ORDER BY h.id DESC LIMIT :first
