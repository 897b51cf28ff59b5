-- add_terms --
-- Add terms to records, unless they have been written again since they were read; log what was added for the counts.
-- No version is kept of it: terms follow from the content, which does not change.
WITH asked AS (
  SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:row_versions AS bigint[]),
    CAST(:terms AS text[]), CAST(:added AS text[]), CAST(:impacts AS text[])) AS a(id, row_version, terms, added, impacts)
), changed AS (
  UPDATE record r
  SET terms = CAST(a.terms AS integer[]), impacts = CAST(a.impacts AS sparsevec)
  FROM asked a
  WHERE r.tenant = :tenant AND r.id = a.id AND r.row_version = a.row_version
    AND NOT r.terms && CAST(a.added AS integer[])
  RETURNING r.id, r.scope, r.sensitivity, CAST(a.added AS integer[]) AS added
)
INSERT INTO word_change (tenant, record, scope, sensitivity, step, terms)
SELECT CAST(:tenant AS bigint), id, scope, sensitivity, 1, added FROM changed ORDER BY id

-- fetch_analysable --
-- Fetch the text and the terms of records, in id order.
SELECT id, row_version, text, sealed, CAST(impacts AS text) AS impacts FROM record
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) ORDER BY id

-- find_episodes --
-- Find which of the given records are episodes, and whether these are closed.
SELECT id, closed_at IS NOT NULL AS is_closed FROM episode WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- list_analysable --
-- List records in id order.
SELECT id FROM record WHERE tenant = :tenant AND (CAST(:after AS uuid) IS NULL OR id > CAST(:after AS uuid))
ORDER BY id LIMIT :limit
