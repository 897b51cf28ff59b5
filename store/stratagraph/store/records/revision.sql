-- delete_reevaluations --
-- Delete the queued re-evaluations of the given records.
DELETE FROM reevaluation WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- direct_dependents --
-- Fetch current records that are derived directly from one of the given records: those that the caller may read in
-- full, or with :hidden those that it may not.
SELECT DISTINCT e.target AS id
FROM relation e
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = ANY(CAST(:derivations AS text[]))
JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.state <= 2
WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
  AND ((:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling) <> :hidden
ORDER BY e.target LIMIT :limit

-- disputed_records --
-- Fetch those of the given records that have an open dispute with another current record.
SELECT DISTINCT near.id
FROM unnest(CAST(:ids AS uuid[])) AS near(id)
JOIN relation e ON e.tenant = :tenant AND (e.source = near.id OR e.target = near.id) AND e.ended_at IS NULL
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'contested_by'
JOIN record r ON r.tenant = e.tenant AND r.id = CASE WHEN e.source = near.id THEN e.target ELSE e.source END
  AND r.state <= 2

-- disputes_of --
-- Fetch the open disputes in which one of the given records is a party.
SELECT e.id, e.source, e.target
FROM relation e JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'contested_by'
WHERE e.tenant = :tenant AND e.ended_at IS NULL
  AND (e.source = ANY(CAST(:ids AS uuid[])) OR e.target = ANY(CAST(:ids AS uuid[])))

-- dispute_parties --
-- Fetch the records that open disputes connect with the given ones, and the given ones.
-- Episodes and records that are no longer current are parties, but connect no further ones.
WITH RECURSIVE contested AS MATERIALIZED (
  SELECT id FROM predicate WHERE tenant = :tenant AND name = 'contested_by'
), party(id, type, state, scope, sensitivity) AS (
  SELECT id, type, state, scope, sensitivity FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
  UNION
  SELECT r.id, r.type, r.state, r.scope, r.sensitivity
  FROM party p
  CROSS JOIN LATERAL (
    SELECT e.target AS id FROM relation e
    WHERE e.tenant = :tenant AND e.source = p.id AND e.ended_at IS NULL AND e.predicate IN (SELECT id FROM contested)
    UNION ALL
    SELECT e.source FROM relation e
    WHERE e.tenant = :tenant AND e.target = p.id AND e.ended_at IS NULL AND e.predicate IN (SELECT id FROM contested)
  ) near
  JOIN record r ON r.tenant = :tenant AND r.id = near.id
  WHERE p.type <> 1 AND p.state <= 2
)
SELECT id, type, (:all_scopes OR scope = ANY(CAST(:scopes AS integer[]))) AND sensitivity <= :ceiling AS is_readable
FROM party

-- end_relations --
-- End the given open relations. Relations are never updated otherwise, but for the hints of their ends.
UPDATE relation SET ended_at = :at, row_version = row_version + 1
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND ended_at IS NULL
RETURNING id, row_version

-- enqueue_dependents --
-- Queue the current records that are derived directly from the given records: those that the caller may read in full,
-- or with :hidden those that it may not.
INSERT INTO reevaluation (tenant, id, cause, queued_at, next_try_at, attempts)
SELECT DISTINCT ON (e.target) e.tenant, e.target, e.source, CAST(:at AS timestamptz), CAST(:at AS timestamptz), 0
FROM relation e
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = ANY(CAST(:derivations AS text[]))
JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.state <= 2
WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
  AND ((:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling) <> :hidden
ORDER BY e.target
ON CONFLICT (tenant, id) DO NOTHING
RETURNING id

-- enqueue_records --
-- Queue the given records themselves for re-evaluation.
INSERT INTO reevaluation (tenant, id, cause, queued_at, next_try_at, attempts)
SELECT :tenant, id, id, CAST(:at AS timestamptz), CAST(:at AS timestamptz), 0 FROM unnest(CAST(:ids AS uuid[])) AS a(id)
ON CONFLICT (tenant, id) DO NOTHING
RETURNING id

-- fetch_contents --
-- Fetch the blobs of locked records that are sealed, and the content of those that become sealed.
-- :levels are their new sensitivities, or null.
-- Prepared: keys only, found by indexes.
SELECT r.id, r.sealed, newly.sealed AS newly_sealed,
  CASE WHEN newly.sealed THEN r.name END AS name,
  CASE WHEN newly.sealed THEN r.text END AS text,
  CASE WHEN newly.sealed THEN r.payload END AS payload,
  CASE WHEN newly.sealed THEN r.provenance END AS provenance,
  CASE WHEN newly.sealed THEN r.interpretation END AS interpretation,
  CASE WHEN newly.sealed THEN r.learned_state END AS learned_state
FROM record r
JOIN (
  SELECT id, max(level) AS level
  FROM unnest(CAST(:ids AS uuid[]), CAST(:levels AS smallint[])) AS a(id, level) GROUP BY id
) a ON a.id = r.id
CROSS JOIN LATERAL (
  SELECT r.sealed IS NULL AND coalesce(greatest(r.sensitivity, a.level) >= CAST(:seal_from AS smallint), false) AS sealed
) newly
WHERE r.tenant = :tenant AND (r.sealed IS NOT NULL OR newly.sealed)

-- fetch_downstream --
-- Fetch current records derived from the given records, directly or not, with their sources on the way.
-- Only records that the caller may read in full.
WITH RECURSIVE kinds AS MATERIALIZED (
  SELECT id FROM predicate WHERE tenant = :tenant AND name = ANY(CAST(:derivations AS text[]))
), down(id, source) AS (
  SELECT e.target, e.source
  FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.state <= 2
    AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
  WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
    AND e.predicate IN (SELECT id FROM kinds)
  UNION
  SELECT e.target, e.source
  FROM down d
  JOIN relation e ON e.tenant = :tenant AND e.source = d.id AND e.ended_at IS NULL
    AND e.predicate IN (SELECT id FROM kinds)
  JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.state <= 2
    AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
)
SELECT id, array_agg(source) AS sources FROM (SELECT id, source FROM down LIMIT :limit) reached GROUP BY id

-- fetch_tombstone_fields --
-- Fetch what a tombstone keeps of records, including the key by which a job would derive them again.
SELECT r.tenant, r.id, r.type, r.scope, r.sensitivity,
  CASE r.type
    WHEN 3 THEN (SELECT t.term_key FROM entity_term t
                 WHERE t.tenant = r.tenant AND t.entity = r.id AND t.kind = 2 ORDER BY t.term_key LIMIT 1)
    WHEN 4 THEN r.fact_key
    WHEN 5 THEN r.handle_key
    WHEN 6 THEN r.handle_key
  END AS key,
  ARRAY(
    SELECT n.id FROM (
      SELECT e.target AS id FROM relation e WHERE e.tenant = r.tenant AND e.source = r.id AND e.ended_at IS NULL
      UNION
      SELECT e.source FROM relation e WHERE e.tenant = r.tenant AND e.target = r.id AND e.ended_at IS NULL
    ) n
    WHERE r.type <> 3 AND (SELECT true FROM record x WHERE x.tenant = r.tenant AND x.id = n.id AND x.type = 3)
    ORDER BY n.id
  ) AS entities,
  ARRAY(
    SELECT v.episode AS id FROM episode_event v WHERE v.tenant = r.tenant AND v.record = r.id
    UNION
    SELECT e.target FROM relation e
    JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'derived_semantic'
    WHERE e.tenant = r.tenant AND e.source = r.id AND r.type = 1
    ORDER BY id
  ) AS learned
FROM record r
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS asked(tenant, id)
  ON r.tenant = asked.tenant AND r.id = asked.id
ORDER BY r.tenant, r.id

-- find_tombstones --
-- Fetch the tombstones of the given ids.
SELECT id, type, scope, sensitivity, cause, at FROM tombstone WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- find_sources --
-- Fetch those of the given sources that are or were records: whether each is invalid (not active, deleted or erased),
-- and whether everybody who may read the record that rests on it may read it as well.
-- :ids and :sources are parallel arrays. A pruned source stays valid, because it was valid when something was learned
-- from it: facts outlive their episodes.
SELECT asked.id, s.id AS source, s.is_invalid,
  s.sensitivity <= r.sensitivity AND (s.scope = r.scope OR s.scope = (
    SELECT u.id FROM scope u WHERE u.tenant = :tenant AND u.name = '')) AS in_reach
FROM unnest(CAST(:ids AS uuid[]), CAST(:sources AS uuid[])) AS asked(id, source)
JOIN record r ON r.tenant = :tenant AND r.id = asked.id
CROSS JOIN LATERAL (
  SELECT id, scope, sensitivity, state <> 1 AS is_invalid FROM record WHERE tenant = :tenant AND id = asked.source
  UNION ALL
  SELECT id, scope, sensitivity, cause <> 1 FROM tombstone WHERE tenant = :tenant AND id = asked.source
) s

-- list_reevaluations --
-- List the queued re-evaluations of records that the caller may read in full, the oldest first.
SELECT q.id, q.cause, q.queued_at, q.attempts, q.error
FROM reevaluation q JOIN record r ON r.tenant = q.tenant AND r.id = q.id
WHERE q.tenant = :tenant AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
ORDER BY q.queued_at, q.id LIMIT :limit

-- lock_due_reevaluations --
-- Lock the queued re-evaluations that are due, skipping those that another worker holds.
SELECT tenant, id, cause, queued_at, attempts, error FROM reevaluation
WHERE next_try_at <= :now ORDER BY next_try_at LIMIT :limit FOR UPDATE SKIP LOCKED

-- lock_records --
-- Lock the given records in id order.
-- Prepared: keys only, found by indexes.
SELECT id, type, scope, sensitivity, state, version, updated_at
FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
ORDER BY id FOR UPDATE

-- postpone_reevaluation --
-- Record a failed re-evaluation and the time of its next attempt.
UPDATE reevaluation SET attempts = attempts + 1, error = :error, next_try_at = :next_try_at
WHERE tenant = :tenant AND id = :id

-- open_relations_of --
-- Fetch the open relations from or to one of the given records.
SELECT e.id, e.source, e.target, p.name, e.weight
FROM relation e JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate
WHERE e.tenant = :tenant AND e.ended_at IS NULL
  AND (e.source = ANY(CAST(:ids AS uuid[])) OR e.target = ANY(CAST(:ids AS uuid[])))
ORDER BY e.id

-- count_derivations --
-- Count those of the given records from which a record was derived.
SELECT count(DISTINCT e.source) AS sources
FROM relation e JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate
  AND p.name = ANY(CAST(:derivations AS text[]))
WHERE e.tenant = :tenant AND e.source = ANY(CAST(:sources AS uuid[])) AND e.target = :id AND e.ended_at IS NULL

-- sources_of --
-- Fetch the records from which each of the given records was derived, valid or not.
SELECT e.target AS id, array_agg(e.source) AS sources
FROM relation e JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate
  AND p.name = ANY(CAST(:derivations AS text[]))
WHERE e.tenant = :tenant AND e.target = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
GROUP BY e.target

-- mark_past_ends --
-- Note at the open relations of the given records whether that end is superseded or retracted, so that traversal from
-- the other end reads past it. The note is a hint, so at most :most relations of a record and direction get it, and
-- those that another transaction has locked do not; it is taken back from all.
WITH ends AS (
  SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:past AS boolean[])) AS a(id, past)
), noted AS (
  SELECT e.id, ends.past AS source_past, NULL::boolean AS target_past FROM ends CROSS JOIN LATERAL (
    SELECT e.id FROM relation e
    WHERE ends.past AND e.tenant = :tenant AND e.source = ends.id AND e.ended_at IS NULL AND NOT e.source_past
    LIMIT :most FOR NO KEY UPDATE SKIP LOCKED) e
  UNION ALL
  SELECT e.id, NULL, ends.past FROM ends CROSS JOIN LATERAL (
    SELECT e.id FROM relation e
    WHERE ends.past AND e.tenant = :tenant AND e.target = ends.id AND e.ended_at IS NULL AND NOT e.target_past
    LIMIT :most FOR NO KEY UPDATE SKIP LOCKED) e
  UNION ALL
  SELECT e.id, false, NULL FROM ends JOIN relation e
    ON NOT ends.past AND e.tenant = :tenant AND e.source = ends.id AND e.source_past
  UNION ALL
  SELECT e.id, NULL, false FROM ends JOIN relation e
    ON NOT ends.past AND e.tenant = :tenant AND e.target = ends.id AND e.target_past
), together AS (
  SELECT id, bool_or(source_past) AS source_past, bool_or(target_past) AS target_past FROM noted GROUP BY id
)
UPDATE relation e SET source_past = coalesce(t.source_past, e.source_past),
  target_past = coalesce(t.target_past, e.target_past)
FROM together t WHERE e.tenant = :tenant AND e.id = t.id

-- mark_ends_of_validity --
-- Note at the open relations of the given facts until when that end holds, so that traversal from the other end passes
-- over expired ones. The note is a hint, so at most :most relations of a fact and direction get it, and those that
-- another transaction has locked do not; where a fact holds for longer than noted, it is taken back from all.
WITH ends AS (
  SELECT a.id, upper(CAST(a.validity AS tstzrange)) AS until
  FROM unnest(CAST(:ids AS uuid[]), CAST(:validities AS text[])) AS a(id, validity)
), noted AS (
  SELECT e.id, true AS of_source, ends.until FROM ends CROSS JOIN LATERAL (
    SELECT e.id FROM relation e
    WHERE e.tenant = :tenant AND e.source = ends.id AND e.ended_at IS NULL
      AND ends.until < coalesce(e.source_until, 'infinity')
    LIMIT :most FOR NO KEY UPDATE SKIP LOCKED) e
  UNION ALL
  SELECT e.id, false, ends.until FROM ends CROSS JOIN LATERAL (
    SELECT e.id FROM relation e
    WHERE e.tenant = :tenant AND e.target = ends.id AND e.ended_at IS NULL
      AND ends.until < coalesce(e.target_until, 'infinity')
    LIMIT :most FOR NO KEY UPDATE SKIP LOCKED) e
  UNION ALL
  SELECT e.id, true, NULL FROM ends JOIN relation e
    ON e.tenant = :tenant AND e.source = ends.id AND e.source_until < coalesce(ends.until, 'infinity')
  UNION ALL
  SELECT e.id, false, NULL FROM ends JOIN relation e
    ON e.tenant = :tenant AND e.target = ends.id AND e.target_until < coalesce(ends.until, 'infinity')
), together AS (
  SELECT id, bool_or(of_source) AS of_source, bool_or(NOT of_source) AS of_target,
    max(until) FILTER (WHERE of_source) AS source_until, max(until) FILTER (WHERE NOT of_source) AS target_until
  FROM noted GROUP BY id
)
UPDATE relation e SET source_until = CASE WHEN t.of_source THEN t.source_until ELSE e.source_until END,
  target_until = CASE WHEN t.of_target THEN t.target_until ELSE e.target_until END
FROM together t WHERE e.tenant = :tenant AND e.id = t.id

-- insert_relations --
-- Insert relations, but for those that exist already and are open, and return the ids of those inserted.
-- The hints of the ends are noted with them: who cannot see an end, since a scope never changes and a sensitivity never
-- falls; and of records that this transaction has written, which nobody else can change before it ends, whether they
-- are past and until when they hold.
INSERT INTO relation (tenant, id, source, target, predicate, weight, created_at, row_version, source_acl, target_acl,
  source_until, target_until, source_past, target_past)
SELECT :tenant, r.id, r.source, r.target, r.predicate, r.weight, :at, 1, s.acl, t.acl, s.until, t.until,
  coalesce(s.past, false), coalesce(t.past, false)
FROM unnest(CAST(:ids AS uuid[]), CAST(:sources AS uuid[]), CAST(:targets AS uuid[]), CAST(:predicates AS integer[]),
  CAST(:weights AS float8[])) WITH ORDINALITY AS r(id, source, target, predicate, weight, position)
LEFT JOIN LATERAL (
  SELECT n.scope * 8 + n.sensitivity AS acl, CASE WHEN n.own THEN upper(n.validity) END AS until, n.own AND n.state > 2 AS past
  FROM (SELECT *, xmin = pg_current_xact_id()::xid AS own FROM record WHERE tenant = :tenant AND id = r.source) n) s ON true
LEFT JOIN LATERAL (
  SELECT n.scope * 8 + n.sensitivity AS acl, CASE WHEN n.own THEN upper(n.validity) END AS until, n.own AND n.state > 2 AS past
  FROM (SELECT *, xmin = pg_current_xact_id()::xid AS own FROM record WHERE tenant = :tenant AND id = r.target) n) t ON true
ORDER BY r.position
ON CONFLICT (tenant, source, predicate, target) WHERE ended_at IS NULL DO NOTHING RETURNING id

-- update_record --
-- Update a record after copying its present version to the history, and return its new row_version and trust.
-- A version written at the same instant, by this transaction, is not copied, because no reader has seen it.
-- The sensitivity never falls, on which hints at relations rely.
-- If the record has other terms or another sensitivity now, both are logged for the statistics of word search. A change
-- of what else the word index has of it is logged for the index alone.
-- The vectors of a text that changes, or is sealed, are deleted.
-- Prepared: keys only, found by indexes.
WITH before AS (
  SELECT scope, sensitivity, terms, impacts, state, validity FROM record WHERE tenant = :tenant AND id = :id
), kept AS (
  INSERT INTO record_history (tenant, id, row_version, from_at, to_at, type, scope, sensitivity, state, confidence,
    tags, name, text, payload, provenance, interpretation, learned_state, sealed, occurred_at, version, terms, impacts, validity)
  SELECT tenant, id, row_version, updated_at, CAST(:at AS timestamptz), type, scope, sensitivity, state, confidence,
    tags, name, text, payload, provenance, interpretation, learned_state, sealed, occurred_at, version, terms, impacts, validity
  FROM record WHERE tenant = :tenant AND id = :id AND updated_at < :at
), after AS (
  UPDATE record SET
    state = coalesce(CAST(:state AS smallint), state),
    sensitivity = greatest(CAST(:sensitivity AS smallint), sensitivity),
    confidence = coalesce(CAST(:confidence AS float8), confidence),
    name = CASE WHEN CAST(:sealed AS bytea) IS NULL THEN coalesce(CAST(:name AS text), name) END,
    text = CASE WHEN CAST(:sealed AS bytea) IS NULL THEN coalesce(CAST(:text AS text), text) END,
    payload = CASE WHEN CAST(:sealed AS bytea) IS NULL
      THEN coalesce(CAST(CAST(:payload AS text) AS jsonb), payload) END,
    provenance = CASE WHEN CAST(:sealed AS bytea) IS NULL
      THEN coalesce(CAST(CAST(:provenance AS text) AS jsonb), provenance) END,
    interpretation = CASE WHEN CAST(:sealed AS bytea) IS NULL
      THEN coalesce(CAST(CAST(:interpretation AS text) AS jsonb), interpretation) END,
    learned_state = CASE WHEN CAST(:sealed AS bytea) IS NULL
      THEN coalesce(CAST(CAST(:learned_state AS text) AS jsonb), learned_state) END,
    sealed = coalesce(CAST(:sealed AS bytea), sealed),
    terms = coalesce(CAST(:terms AS integer[]), terms),
    impacts = coalesce(CAST(CAST(:impacts AS text) AS sparsevec), impacts),
    occurred_at = coalesce(CAST(:occurred_at AS timestamptz), occurred_at),
    validity = coalesce(CAST(CAST(:validity AS text) AS tstzrange), validity),
    lesson_authors = coalesce(CAST(:lesson_authors AS text[]), lesson_authors),
    named_times = nullif(coalesce(CAST(CAST(:named_times AS text) AS tstzmultirange), named_times), '{}'),
    updated_at = :at,
    version = version + :step,
    row_version = row_version + 1
  WHERE tenant = :tenant AND id = :id
  RETURNING row_version, scope, sensitivity, terms, impacts, state, validity
), difference AS (
  SELECT
    (b.scope, b.sensitivity, b.terms) IS DISTINCT FROM (a.scope, a.sensitivity, a.terms) AS is_counted,
    (b.state > 2, b.validity) IS DISTINCT FROM (a.state > 2, a.validity)
      OR (CAST(:impacts AS text) IS NOT NULL AND b.impacts <> a.impacts) AS is_indexed
  FROM before b, after a
), logged AS (
  INSERT INTO word_change (tenant, record, scope, sensitivity, step, terms)
  SELECT CAST(:tenant AS bigint), CAST(:id AS uuid), change.* FROM before, after, difference, LATERAL (
    SELECT before.scope, before.sensitivity, -1, 0 || before.terms WHERE is_counted
    UNION ALL
    SELECT after.scope, after.sensitivity, 1, 0 || after.terms WHERE is_counted
    UNION ALL
    SELECT after.scope, after.sensitivity, 0, CAST('{}' AS integer[]) WHERE is_indexed AND NOT is_counted
  ) AS change
), outdated AS (
  DELETE FROM embedding
  WHERE (CAST(:text AS text) IS NOT NULL OR CAST(:sealed AS bytea) IS NOT NULL) AND tenant = :tenant AND id = :id
)
SELECT after.row_version, after.scope, after.sensitivity, before.sensitivity AS was_sensitivity FROM before, after
