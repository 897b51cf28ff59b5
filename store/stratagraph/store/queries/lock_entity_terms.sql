-- What some entities are known by, locked in the order in which terms are claimed.
SELECT term_key, entity, scope, sensitivity, kind, claimed FROM entity_term
WHERE tenant = :tenant AND entity = ANY(CAST(:entities AS uuid[]))
ORDER BY scope, sensitivity, term_key FOR UPDATE
