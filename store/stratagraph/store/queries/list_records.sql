-- A page of records, newest first. The keyset walks record_listed_ix; filters beyond it cost what they skip.
SELECT {record_columns}
FROM record r JOIN salience s ON s.tenant = r.tenant AND s.id = r.id
WHERE r.tenant = :tenant AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling + 1
  AND (CAST(:before AS uuid) IS NULL OR r.id < CAST(:before AS uuid))
  AND r.type = ANY(CAST(:types AS smallint[]))
  AND (CAST(:scope AS text) IS NULL
       OR r.scope = (SELECT id FROM scope WHERE scope.tenant = :tenant AND scope.name = CAST(:scope AS text)))
  AND (CAST(:tag AS text) IS NULL OR CAST(:tag AS text) = ANY(r.tags))
ORDER BY r.id DESC LIMIT :first
