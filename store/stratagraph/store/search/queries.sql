-- add_word_counts --
-- Add differences to the counts by scope and sensitivity. Rows that reach 0 are deleted.
MERGE INTO word_count c
USING unnest(CAST(:terms AS integer[]), CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]),
  CAST(:steps AS integer[])) AS d(term, scope, sensitivity, step)
ON c.tenant = :tenant AND c.term = d.term AND c.scope = d.scope AND c.sensitivity = d.sensitivity
WHEN MATCHED AND c.records + d.step <= 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET records = c.records + d.step
WHEN NOT MATCHED AND d.step > 0 THEN INSERT (tenant, term, scope, sensitivity, records)
  VALUES (CAST(:tenant AS bigint), d.term, d.scope, d.sensitivity, d.step)

-- add_word_totals --
-- Add differences to the totals by sensitivity. Rows that reach 0 are deleted.
MERGE INTO word_total c
USING (
  SELECT term, sensitivity, sum(step)::integer AS step
  FROM unnest(CAST(:terms AS integer[]), CAST(:sensitivities AS smallint[]), CAST(:steps AS integer[]))
    AS d(term, sensitivity, step)
  GROUP BY term, sensitivity HAVING sum(step) <> 0 ORDER BY term, sensitivity
) d
ON c.tenant = :tenant AND c.term = d.term AND c.sensitivity = d.sensitivity
WHEN MATCHED AND c.records + d.step <= 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET records = c.records + d.step
WHEN NOT MATCHED AND d.step > 0 THEN INSERT (tenant, term, sensitivity, records)
  VALUES (CAST(:tenant AS bigint), d.term, d.sensitivity, d.step)

-- count_scopes --
-- Count the records of each of the given scopes, up to a sensitivity; the scopes with most records first.
SELECT scope, sum(records)::bigint AS records FROM word_count
WHERE tenant = :tenant AND term = 0 AND scope = ANY(CAST(:scopes AS integer[])) AND sensitivity <= :ceiling
GROUP BY scope ORDER BY records DESC, scope

-- count_terms --
-- Count the records with each term, and all of them as term 0, in the given scopes up to a sensitivity.
SELECT term, sum(records)::bigint AS records FROM word_count
WHERE tenant = :tenant AND term = ANY(CAST(:terms AS integer[])) AND scope = ANY(CAST(:scopes AS integer[]))
  AND sensitivity <= :ceiling
GROUP BY term

-- count_terms_in_all_scopes --
-- Count the records with each term, and all of them as term 0, up to a sensitivity.
SELECT term, sum(records)::bigint AS records FROM word_total
WHERE tenant = :tenant AND term = ANY(CAST(:terms AS integer[])) AND sensitivity <= :ceiling GROUP BY term

-- delete_old_retrievals --
-- Delete the oldest entries of the retrieval log, at most :limit.
DELETE FROM retrieval r
USING (SELECT tenant, id FROM retrieval WHERE at < :before ORDER BY at LIMIT :limit) old
WHERE r.tenant = old.tenant AND r.id = old.id

-- search_recent --
-- Fetch the newest records that the caller may read in full.
SELECT id FROM search_recent(CAST(:types AS smallint[]), CAST(:now AS timestamptz), :window, :limit)

-- find_tenants_with_word_changes --
-- Find the tenants that have changes which are not counted yet, by one look-up in the index for each.
WITH RECURSIVE found(tenant) AS (
  (SELECT tenant FROM word_change ORDER BY tenant LIMIT 1)
  UNION ALL
  SELECT (SELECT c.tenant FROM word_change c WHERE c.tenant > f.tenant ORDER BY c.tenant LIMIT 1)
  FROM found f WHERE f.tenant IS NOT NULL
)
SELECT tenant FROM found WHERE tenant IS NOT NULL

-- lock_word_counts --
-- Wait for another process that adds changes to the counts.
-- This is a statement of its own, so that the next one sees what the other process has written. For the rest of the
-- transaction, counts are looked up in the index: for a batch, the planner would read all of them.
SELECT pg_advisory_xact_lock(7003), set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true), set_config('enable_seqscan', 'off', true)

-- log_deleted --
-- Fragment: log the terms of the records `deleted`, with 0 for the record itself.
INSERT INTO word_change (tenant, scope, sensitivity, step, terms)
  SELECT tenant, scope, sensitivity, -1, 0 || terms FROM deleted

-- search_recent_at --
-- Fetch the newest records as of an instant, among the last :window by id. Ids are made in the order of time.
SELECT id FROM search_recent_at(CAST(:types AS smallint[]), CAST(:at AS timestamptz), CAST(:below AS uuid), :window, :limit)

-- search_words --
-- Search records by their terms, ordered by BM25 distance.
SELECT id, distance
FROM search_words(CAST(:any_of AS integer[]), CAST(:all_of AS integer[]), :everything, CAST(:vector AS sparsevec),
  CAST(:types AS smallint[]), CAST(:now AS timestamptz), :history, CAST(:cap AS integer), :limit)

-- search_words_at --
-- Search records by their terms as they were at a past instant.
SELECT id, distance
FROM search_words_at(CAST(:any_of AS integer[]), CAST(:all_of AS integer[]), :everything, CAST(:vector AS sparsevec),
  CAST(:types AS smallint[]), CAST(:at AS timestamptz), CAST(:cap AS integer),
  :limit)

-- take_word_changes --
-- Delete the first changes of a tenant and return what they add up to, in the order of the index of the counts.
-- In the order of seq no deletion comes before the insertion of the same record: its number was given later.
WITH taken AS (
  DELETE FROM word_change WHERE tenant = :tenant AND seq = ANY(ARRAY(
    SELECT seq FROM word_change WHERE tenant = :tenant ORDER BY seq LIMIT :limit))
  RETURNING scope, sensitivity, step, terms
), differences AS (
  SELECT term, scope, sensitivity, sum(step)::integer AS step FROM taken, unnest(terms) AS term
  GROUP BY term, scope, sensitivity HAVING sum(step) <> 0
)
SELECT (SELECT count(*) FROM taken) AS changes,
  array_agg(term ORDER BY term, scope, sensitivity) AS terms,
  array_agg(scope ORDER BY term, scope, sensitivity) AS scopes,
  array_agg(sensitivity ORDER BY term, scope, sensitivity) AS sensitivities,
  array_agg(step ORDER BY term, scope, sensitivity) AS steps
FROM differences
