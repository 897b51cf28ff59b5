-- find_known_identifiers --
-- Find those of the given identifiers that an entity has in one of the given scopes.
SELECT DISTINCT term_key FROM entity_term
WHERE tenant = :tenant AND term_key = ANY(CAST(:keys AS bytea[])) AND kind = 1
  AND scope = ANY(CAST(:scopes AS integer[]))
