-- add_word_counts --
-- Add differences to the counts. Cells that reach 0 are removed, and rows without cells deleted.
-- A word that is in more than 100 cells then gets a row for each 16 scopes, and the sums over all scopes in its first
-- row. Rows are looked up by subqueries and by the conflict, never by a join: while the table is new or has just grown,
-- the planner would read all counts of the tenant for each word.
WITH word AS MATERIALIZED (
  SELECT d.term, d.cells, d.steps,
    (SELECT w.cells FROM word_count w WHERE w.tenant = :tenant AND w.term = d.term AND w.part = -1) AS counted
  FROM (
    SELECT term, array_agg(scope::bigint * 8 + sensitivity) AS cells, array_agg(step) AS steps
    FROM unnest(CAST(:terms AS integer[]), CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]),
      CAST(:steps AS integer[])) AS d(term, scope, sensitivity, step)
    GROUP BY term
  ) d
), difference AS (
  SELECT term, -1 AS part, coalesce(counted[1] >> 32 = 0, false) AS is_spread, counted,
    CASE WHEN counted[1] >> 32 = 0 THEN ARRAY(SELECT cell & 7 FROM unnest(cells) AS cell) ELSE cells END AS cells, steps
  FROM word
  UNION ALL
  SELECT p.term, p.part, true,
    (SELECT w.cells FROM word_count w WHERE w.tenant = :tenant AND w.term = p.term AND w.part = p.part),
    p.cells, p.steps
  FROM (
    SELECT word.term, (d.cell / 128)::integer AS part, array_agg(d.cell) AS cells, array_agg(d.step) AS steps
    FROM word, unnest(word.cells, word.steps) AS d(cell, step)
    WHERE word.counted[1] >> 32 = 0 GROUP BY word.term, d.cell / 128
  ) p
), result AS MATERIALIZED (
  SELECT d.term, d.part, d.is_spread, ARRAY(
    SELECT (cell << 29) + sum(records)
    FROM (
      SELECT packed >> 29 AS cell, (packed & 536870911)::integer AS records FROM unnest(d.counted) AS packed
      UNION ALL
      SELECT * FROM unnest(d.cells, d.steps)
    ) both_sides
    GROUP BY cell HAVING sum(records) > 0 ORDER BY cell
  ) AS cells
  FROM difference d
), emptied AS (
  DELETE FROM word_count WHERE ctid = ANY (ARRAY(
    SELECT (SELECT w.ctid FROM word_count w WHERE w.tenant = :tenant AND w.term = r.term AND w.part = r.part)
    FROM result r WHERE cardinality(r.cells) = 0))
), grown AS (
  SELECT r.term, packed >> 29 AS cell, packed FROM result r, unnest(r.cells) AS packed
  WHERE NOT r.is_spread AND cardinality(r.cells) > 100
)
INSERT INTO word_count (tenant, term, part, cells)
SELECT CAST(:tenant AS bigint), term, part, cells FROM result
WHERE cardinality(cells) > 0 AND (is_spread OR cardinality(cells) <= 100)
UNION ALL
SELECT CAST(:tenant AS bigint), term, (cell / 128)::integer, array_agg(packed ORDER BY packed)
FROM grown GROUP BY term, cell / 128
UNION ALL
SELECT CAST(:tenant AS bigint), term, -1, array_agg((level << 29) + records ORDER BY level)
FROM (
  SELECT term, cell & 7 AS level, sum((packed & 536870911)::integer) AS records FROM grown GROUP BY term, cell & 7
) by_level
GROUP BY term
ON CONFLICT (tenant, term, part) DO UPDATE SET cells = excluded.cells

-- count_scopes --
-- Count the records of each of the given scopes that the caller may read; the scopes with most records first.
-- Prepared: a call of a function.
SELECT scope, records FROM count_scopes(CAST(:scopes AS integer[])) ORDER BY records DESC, scope

-- count_terms --
-- Count the records with each term, and all of them as term 0, in the given scopes.
-- Prepared: a call of a function.
SELECT term, records FROM count_terms(CAST(:terms AS integer[]), CAST(:scopes AS integer[]))

-- count_terms_in_all_scopes --
-- Count the records with each term, and all of them as term 0.
-- Prepared: a call of a function.
SELECT term, records FROM count_terms_in_all_scopes(CAST(:terms AS integer[]))

-- delete_old_retrievals --
-- Delete the oldest entries of the retrieval log, at most :limit.
DELETE FROM retrieval r
USING (SELECT tenant, id FROM retrieval WHERE at < :before ORDER BY at LIMIT :limit) old
WHERE r.tenant = old.tenant AND r.id = old.id

-- search_recent --
-- Fetch the newest records that the caller may read in full, newest first.
-- First among the newest :few of them. Only where these hold fewer than :limit are the newest :window read, of which the
-- first search has found the beginning.
-- Prepared: calls of a function.
WITH few AS MATERIALIZED (
  SELECT id, place FROM search_recent(CAST(:types AS smallint[]), CAST(:now AS timestamptz), :few, :limit)
    WITH ORDINALITY AS found(id, place)
)
SELECT id FROM (
  SELECT id, place FROM few
  UNION ALL
  SELECT id, place FROM search_recent(CAST(:types AS smallint[]), CAST(:now AS timestamptz), :window, :limit)
    WITH ORDINALITY AS found(id, place)
  WHERE (SELECT count(*) FROM few) < :limit AND place > (SELECT count(*) FROM few)
) found
ORDER BY place

-- find_tenants_with_word_changes --
-- Find the tenants that have changes which are not counted yet, by one look-up in the index for each.
WITH RECURSIVE found(tenant) AS (
  (SELECT tenant FROM word_change ORDER BY tenant LIMIT 1)
  UNION ALL
  SELECT (SELECT c.tenant FROM word_change c WHERE c.tenant > f.tenant ORDER BY c.tenant LIMIT 1)
  FROM found f WHERE f.tenant IS NOT NULL
)
SELECT tenant FROM found WHERE tenant IS NOT NULL

-- word_index_lock --
-- Fragment: wait for a process that counts and indexes words.
pg_advisory_xact_lock(7003)

-- lock_word_index --
-- Wait for a process that counts and indexes words, before the rows of a tenant are deleted.
SELECT {word_index_lock}

-- lock_word_counts --
-- Wait for another process that adds changes to the counts.
-- This is a statement of its own, so that the next one sees what the other process has written. For the rest of the
-- transaction, counts are looked up in the index: for a batch, the planner would read all of them.
SELECT {word_index_lock}, set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true), set_config('enable_seqscan', 'off', true)

-- find_linked --
-- Find at most :most records with a relation from and to each of some entities, that the caller may read in full.
-- Prepared: each entity is a look-up in the same indexes. Four values, of which some may be null, cost the planner as
-- much for one entity as for four, so that it keeps the plan; for an array it plans anew, which takes longer than all else.
SELECT near.id AS entity, e.far
FROM (
  VALUES (CAST(:first AS uuid)), (CAST(:second AS uuid)), (CAST(:third AS uuid)), (CAST(:fourth AS uuid))
) AS near(id)
CROSS JOIN LATERAL (
  (SELECT e.target AS far FROM relation_in_sight e
   WHERE e.tenant = :tenant AND e.source = near.id AND e.ended_at IS NULL
     AND (:all_scopes OR e.target_scope = ANY(CAST(:scopes AS integer[]))) AND e.target_sensitivity <= :ceiling
     AND {target_may_be_seen} AND NOT e.target_past AND {target_may_hold}
     AND e.target_is_current AND coalesce(e.target_validity @> CAST(:at AS timestamptz), true)
   ORDER BY e.weight DESC, e.id LIMIT :most)
  UNION ALL
  (SELECT e.source FROM relation_in_sight e
   WHERE e.tenant = :tenant AND e.target = near.id AND e.ended_at IS NULL
     AND (:all_scopes OR e.source_scope = ANY(CAST(:scopes AS integer[]))) AND e.source_sensitivity <= :ceiling
     AND {source_may_be_seen} AND NOT e.source_past AND {source_may_hold}
     AND e.source_is_current AND coalesce(e.source_validity @> CAST(:at AS timestamptz), true)
   ORDER BY e.weight DESC, e.id LIMIT :most)
) e

-- log_deleted --
-- Fragment: log the terms of the records `deleted`, with 0 for the record itself.
INSERT INTO word_change (tenant, record, scope, sensitivity, step, terms)
  SELECT tenant, id, scope, sensitivity, -1, 0 || terms FROM deleted

-- log_retrievals --
-- Insert retrievals of one caller into the log, without the records that were deleted since.
-- An entry that is there already was written by an attempt whose answer was lost. The lessons that playbooks have as
-- roots are counted, in id order, as everywhere.
WITH logged AS (
INSERT INTO retrieval (tenant, id, actor, at, is_playbook, composed_id, composed, composed_parts, roots, nodes)
SELECT CAST(:tenant AS bigint), entry.id, CAST(:actor AS text), entry.at, entry.is_playbook, entry.composed_id,
  entry.composed, CAST(entry.parts AS uuid[]),
  ARRAY(SELECT x.id FROM unnest(CAST(entry.roots AS uuid[])) WITH ORDINALITY AS x(id, position)
    WHERE EXISTS (SELECT FROM record r WHERE r.tenant = :tenant AND r.id = x.id) ORDER BY x.position),
  ARRAY(SELECT x.id FROM unnest(CAST(entry.nodes AS uuid[])) WITH ORDINALITY AS x(id, position)
    WHERE EXISTS (SELECT FROM record r WHERE r.tenant = :tenant AND r.id = x.id) ORDER BY x.position)
FROM unnest(CAST(:ids AS uuid[]), CAST(:instants AS timestamptz[]), CAST(:playbooks AS boolean[]),
  CAST(:composed_ids AS uuid[]), CAST(:composed AS text[]), CAST(:parts AS text[]), CAST(:roots AS text[]), CAST(:nodes AS text[]))
  AS entry(id, at, is_playbook, composed_id, composed, parts, roots, nodes)
ON CONFLICT (tenant, id) DO NOTHING
RETURNING at, is_playbook, roots
), told AS MATERIALIZED (
  SELECT one.id, count(*) AS times, max(logged.at) AS at
  FROM logged, unnest(logged.roots) AS one(id) WHERE logged.is_playbook GROUP BY one.id
), held AS MATERIALIZED (  -- until the end, so that none is deleted before its count is inserted
  SELECT r.id, told.times, told.at FROM told JOIN record r ON r.tenant = :tenant AND r.id = told.id
  ORDER BY r.id FOR KEY SHARE OF r
)
INSERT INTO lesson_use AS u (tenant, id, retrievals, helpful, retrieved_at)
SELECT CAST(:tenant AS bigint), id, times, 0, at FROM held ORDER BY id
ON CONFLICT (tenant, id) DO UPDATE SET retrievals = u.retrievals + excluded.retrievals,
  retrieved_at = greatest(u.retrieved_at, excluded.retrieved_at)

-- search_recent_at --
-- Fetch the newest records as of an instant, among the last :window by id. Ids are made in the order of time.
SELECT id FROM search_recent_at(CAST(:types AS smallint[]), CAST(:at AS timestamptz), CAST(:below AS uuid), :window, :limit)

-- search_named_times --
-- Fetch records that occurred in one of some intervals: of the newest :window, those with most of the terms.
SELECT id FROM search_named_times(CAST(:types AS smallint[]), CAST(:at AS timestamptz), CAST(:since AS timestamptz[]),
  CAST(:until AS timestamptz[]), CAST(:terms AS integer[]), :window, :limit)

-- search_named_times_at --
-- Fetch records that occurred in one of some intervals, as of an instant.
SELECT id FROM search_named_times_at(CAST(:types AS smallint[]), CAST(:at AS timestamptz), CAST(:since AS timestamptz[]),
  CAST(:until AS timestamptz[]), CAST(:terms AS integer[]), :window, :limit)

-- search_words --
-- Search records by their terms, ordered by BM25 distance.
SELECT id, distance
FROM search_words(CAST(:any_of AS integer[]), CAST(:all_of AS integer[]), :everything, CAST(:vector AS sparsevec),
  CAST(:types AS smallint[]), CAST(:now AS timestamptz), :history, CAST(:cap AS integer), :limit,
  CAST(:since AS timestamptz[]), CAST(:until AS timestamptz[]), :superseded)

-- search_words_at --
-- Search records by their terms as they were at a past instant.
SELECT id, distance
FROM search_words_at(CAST(:any_of AS integer[]), CAST(:all_of AS integer[]), :everything, CAST(:vector AS sparsevec),
  CAST(:types AS smallint[]), CAST(:at AS timestamptz), CAST(:cap AS integer), :limit, CAST(:valid_at AS timestamptz))

-- take_word_changes --
-- Delete the first changes of a tenant; return their records, and their sums in the order of the counts' index.
-- In the order of seq no deletion comes before the insertion of the same record: its number was given later.
WITH taken AS (
  DELETE FROM word_change WHERE tenant = :tenant AND seq = ANY(ARRAY(
    SELECT seq FROM word_change WHERE tenant = :tenant ORDER BY seq LIMIT :limit))
  RETURNING record, scope, sensitivity, step, terms
), differences AS (
  SELECT term, scope, sensitivity, sum(step)::integer AS step FROM taken, unnest(terms) AS term
  GROUP BY term, scope, sensitivity HAVING sum(step) <> 0
)
SELECT (SELECT count(*) FROM taken) AS changes, ARRAY(SELECT DISTINCT record FROM taken) AS records,
  array_agg(term ORDER BY term, scope, sensitivity) AS terms,
  array_agg(scope ORDER BY term, scope, sensitivity) AS scopes,
  array_agg(sensitivity ORDER BY term, scope, sensitivity) AS sensitivities,
  array_agg(step ORDER BY term, scope, sensitivity) AS steps
FROM differences

-- read_word_index --
-- Read the segments of the tenant's word index, and which records have changed since it was written, at most :most.
-- Prepared: a look-up.
SELECT segments, versions, buckets, changed FROM read_word_index(:most)

-- fetch_word_segments --
-- Fetch the heads of segments of the tenant's word index; of those that are not in `whole`, only what may have changed.
-- Prepared: each segment is a look-up.
SELECT id, version, removed, records, buckets, groups, ids, bounded
FROM fetch_word_segments(CAST(:segments AS bigint[]), CAST(:whole AS bigint[]))

-- fetch_word_blocks --
-- Fetch blocks of the tenant's word index, given as pairs of a segment and a bucket.
-- Prepared: each block is a look-up.
SELECT segment, bucket, postings FROM fetch_word_blocks(CAST(:segments AS bigint[]), CAST(:buckets AS integer[]))

-- fetch_changed_words --
-- Fetch the words of the given records that the caller may read in full: those with a term, and with all :required.
SELECT r.id, sparsevec_send(r.impacts) AS impacts
FROM unnest(CAST(:ids AS uuid[])) AS asked(id) CROSS JOIN LATERAL (
  SELECT * FROM record r WHERE r.tenant = :tenant AND r.id = asked.id LIMIT 1
) r
WHERE r.terms && CAST(:terms AS integer[]) AND r.terms @> CAST(:required AS integer[]) AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[])))
  AND r.sensitivity <= :ceiling AND r.type = ANY(CAST(:types AS smallint[]))
  AND (:history OR (r.state <= 2 AND (r.validity IS NULL OR r.validity @> CAST(:now AS timestamptz)))
    OR (r.type = 4 AND r.state <= CASE WHEN :superseded THEN 3 ELSE 2 END AND EXISTS (
      SELECT FROM unnest(CAST(:since AS timestamptz[]), CAST(:until AS timestamptz[])) AS p(since, until)
      WHERE r.validity && tstzrange(p.since, p.until))))

-- fetch_words_of_records --
-- Fetch what the word index has of records. Times are in microseconds since 1970; nothing holds at an empty validity.
-- Prepared: each record is a look-up.
SELECT r.id, r.scope, r.sensitivity, r.type, r.state > 2 AS is_past, sparsevec_send(r.impacts) AS impacts,
  CASE WHEN isempty(r.validity) THEN :most
    WHEN isfinite(lower(r.validity)) THEN (extract(epoch FROM lower(r.validity)) * 1000000)::bigint ELSE :least END AS since,
  CASE WHEN isempty(r.validity) THEN :least
    WHEN isfinite(upper(r.validity)) THEN (extract(epoch FROM upper(r.validity)) * 1000000)::bigint ELSE :most END AS until
FROM unnest(CAST(:ids AS uuid[])) AS asked(id) CROSS JOIN LATERAL (
  SELECT * FROM record r WHERE r.tenant = :tenant AND r.id = asked.id LIMIT 1
) r

-- fetch_segments_with_ids --
-- Fetch the segments of a tenant that may have one of the records, by their first and last ids.
SELECT id, records, buckets, removed, ''::bytea AS groups, ids, ''::bytea AS bounded FROM word_segment s
WHERE tenant = :tenant AND EXISTS (
  SELECT FROM unnest(CAST(:ids AS uuid[])) AS asked(id) WHERE asked.id BETWEEN s.first_id AND s.last_id)

-- remove_from_word_segment --
-- Set the removed positions of a segment, which is to be written again without them in :purge_s seconds at the latest.
-- Its version is a new random number: after a restore, none means what a process has in memory of another list.
UPDATE word_segment SET removed = CAST(:removed AS integer[]), version = (random() * 2147483647)::integer,
  purge_at = least(purge_at, clock_timestamp() + make_interval(secs => :purge_s))
WHERE tenant = :tenant AND id = :segment

-- insert_word_segment --
-- Insert a segment and its blocks, which are given one after another.
WITH segment AS (
  INSERT INTO word_segment (tenant, records, buckets, groups, ids, bounded, first_id, last_id)
  SELECT CAST(:tenant AS bigint), CAST(:records AS integer), CAST(:size AS integer), CAST(:groups AS bytea),
    CAST(:ids AS bytea), CAST(:bounded AS bytea), CAST(:first_id AS uuid), CAST(:last_id AS uuid)
  RETURNING id
)
INSERT INTO word_block (tenant, segment, bucket, postings)
SELECT CAST(:tenant AS bigint), segment.id, b.bucket, substring(CAST(:blocks AS bytea) FROM b.start FOR b.length)
FROM segment, unnest(CAST(:buckets AS integer[]), CAST(:starts AS integer[]), CAST(:lengths AS integer[]))
  AS b(bucket, start, length)

-- list_word_segments --
-- List the segments of a tenant's word index with their sizes.
SELECT id, records, cardinality(removed) AS removed, coalesce(purge_at <= clock_timestamp(), false) AS is_due
FROM word_segment WHERE tenant = :tenant ORDER BY id

-- fetch_word_segment --
-- Fetch the head of a segment.
SELECT id, records, buckets, removed, groups, ids, bounded FROM word_segment WHERE tenant = :tenant AND id = :segment

-- fetch_blocks_of_segment --
-- Fetch all blocks of a segment.
SELECT postings FROM word_block WHERE tenant = :tenant AND segment = :segment

-- delete_word_segments --
-- Delete segments with their blocks.
WITH blocks AS (
  DELETE FROM word_block WHERE tenant = :tenant AND segment = ANY(CAST(:segments AS bigint[]))
)
DELETE FROM word_segment WHERE tenant = :tenant AND id = ANY(CAST(:segments AS bigint[]))

-- find_tenants_with_due_segments --
-- Find the tenants with segments that are due to be written again.
SELECT DISTINCT tenant FROM word_segment WHERE purge_at <= now()
