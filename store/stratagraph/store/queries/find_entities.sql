-- Entities in full sight whose name or alias is one of the keys, current ones only.
SELECT t.entity, t.term_key
FROM entity_term t JOIN record r ON r.tenant = t.tenant AND r.id = t.entity
WHERE t.tenant = :tenant AND t.term_key = ANY(CAST(:keys AS bytea[])) AND t.kind IN (2, 3)
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
  AND r.state IN (1, 2)
ORDER BY t.claimed DESC, t.entity
LIMIT :limit
