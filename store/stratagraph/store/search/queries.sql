-- count_words --
-- Count the terms of new records once: per tenant and term, per tenant, per scope.
WITH fresh AS (
  SELECT r.tenant, r.scope, r.terms FROM record r
  JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id) ON r.tenant = a.tenant AND r.id = a.id
), frequencies AS (
  INSERT INTO lex_df AS f (tenant, term, df)
  SELECT tenant, term, count(*) FROM fresh, unnest(terms) AS term GROUP BY tenant, term ORDER BY tenant, term
  ON CONFLICT (tenant, term) DO UPDATE SET df = f.df + excluded.df
), documents AS (
  INSERT INTO lex_stat AS s (tenant, docs) SELECT tenant, count(*) FROM fresh GROUP BY tenant
  ON CONFLICT (tenant) DO UPDATE SET docs = s.docs + excluded.docs
)
INSERT INTO lex_scope AS s (tenant, scope, docs) SELECT tenant, scope, count(*) FROM fresh GROUP BY tenant, scope
ON CONFLICT (tenant, scope) DO UPDATE SET docs = s.docs + excluded.docs

-- delete_old_retrievals --
-- Delete the oldest entries of the retrieval log, at most :limit.
DELETE FROM retrieval r
USING (SELECT tenant, id FROM retrieval WHERE at < :before ORDER BY at LIMIT :limit) old
WHERE r.tenant = old.tenant AND r.id = old.id

-- search_recent --
-- Fetch the newest records that the caller may read in full.
SELECT id FROM search_recent(CAST(:types AS smallint[]), CAST(:now AS timestamptz), :window, :limit)

-- search_recent_at --
-- Fetch the newest records as of an instant, among the last :window.
-- Ids are made in the order of time, so the index is read from the instant's id backwards, and the number of rows is
-- bounded before any filter.
SELECT r.id FROM (
  SELECT tenant, id, type, scope, sensitivity, state, created_at, updated_at, occurred_at FROM record
  WHERE tenant = :tenant AND id < CAST(:below AS uuid) ORDER BY id DESC LIMIT :window
) r
CROSS JOIN LATERAL (
  SELECT r.scope, r.sensitivity, r.state, r.occurred_at WHERE r.updated_at <= :at
  UNION ALL
  (SELECT h.scope, h.sensitivity, h.state, h.occurred_at FROM record_history h
   WHERE r.updated_at > :at AND h.tenant = r.tenant AND h.id = r.id AND h.from_at <= :at AND h.to_at > :at
   ORDER BY h.row_version DESC LIMIT 1)
) v
WHERE r.created_at <= :at AND r.type = ANY(CAST(:types AS smallint[])) AND v.state <= 2
  AND (:all_scopes OR (r.scope = ANY(CAST(:scopes AS integer[])) AND v.scope = ANY(CAST(:scopes AS integer[]))))
  AND greatest(r.sensitivity, v.sensitivity) <= :ceiling
ORDER BY v.occurred_at DESC, r.id DESC LIMIT :limit

-- search_words --
-- Search records by their terms, ordered by BM25 distance.
SELECT id, distance
FROM search_words(CAST(:any_of AS integer[]), CAST(:all_of AS integer[]), :everything, CAST(:vector AS sparsevec),
  CAST(:types AS smallint[]), CAST(:now AS timestamptz), :history, :limit)

-- search_words_at --
-- Search records by their terms as they were at a past instant.
SELECT id, distance
FROM search_words_at(CAST(:any_of AS integer[]), CAST(:all_of AS integer[]), :everything, CAST(:vector AS sparsevec),
  CAST(:types AS smallint[]), CAST(:at AS timestamptz), :limit)

-- word_statistics --
-- Count the tenant's documents, those in the caller's scopes, and the documents with each term.
SELECT
  coalesce((SELECT docs FROM lex_stat WHERE tenant = :tenant), 0)::bigint AS documents,
  CASE WHEN :all_scopes THEN 0 ELSE coalesce((
    SELECT sum(docs) FROM lex_scope WHERE tenant = :tenant AND scope = ANY(CAST(:scopes AS integer[]))), 0)
  END::bigint AS in_scopes,
  array_agg(d.term) AS terms, array_agg(d.df) AS df
FROM (SELECT term, df FROM lex_df WHERE tenant = :tenant AND term = ANY(CAST(:terms AS integer[]))) d
