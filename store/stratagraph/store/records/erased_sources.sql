-- delete_erased_sources --
-- Delete the given sources of erased records, each at its scope and sensitivity.
DELETE FROM erased_source s
USING unnest(CAST(:hashes AS bytea[]), CAST(:scopes AS integer[]), CAST(:levels AS smallint[])) AS a(hash, scope, level)
WHERE s.tenant = :tenant AND s.key_hash = a.hash AND s.scope = a.scope AND s.sensitivity = a.level

-- find_erased_sources --
-- Find the scopes and sensitivities at which sources with the given hashes were erased.
-- Prepared: keys only, found by indexes.
SELECT key_hash, scope, sensitivity FROM erased_source
WHERE tenant = :tenant AND key_hash = ANY(CAST(:hashes AS bytea[]))
