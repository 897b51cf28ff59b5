-- fetch_records_with_terms --
-- Fetch the records that have all of the given search terms, newest first.
SELECT id, name, text, payload, provenance, interpretation, learned_state, sealed FROM record
WHERE tenant = :tenant AND terms @> CAST(:terms AS integer[]) ORDER BY id DESC LIMIT :limit
