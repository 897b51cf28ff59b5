-- fetch_records_with_terms --
-- Fetch the records that have all of the given search terms, newest first.
SELECT id, name, text, payload, provenance, interpretation, learned_state, sealed FROM record
WHERE tenant = :tenant AND terms @> CAST(:terms AS integer[]) ORDER BY id DESC LIMIT :limit

-- is_reanalysis_pending --
-- Find whether a tenant's records of an earlier release still have the terms of an earlier analysis.
SELECT EXISTS (SELECT FROM reanalysis WHERE tenant = :tenant) AS is_pending
