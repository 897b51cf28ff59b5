-- fetch_by_handle --
-- Fetch records by the keyed hash of their plan_id, skill_name or ref, newest first.
-- With :at, only those that were created by then.
SELECT {record_columns}
FROM record r JOIN record_head h ON h.tenant = r.tenant AND h.id = r.id
WHERE r.tenant = :tenant AND r.handle_key = ANY(CAST(:keys AS bytea[])) AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[])))
  AND r.sensitivity <= :ceiling AND (CAST(:at AS timestamptz) IS NULL OR r.created_at <= CAST(:at AS timestamptz))
ORDER BY r.created_at DESC, r.id DESC LIMIT 100

-- fetch_current_by_handle --
-- Fetch the current records with the given handle keys that the caller may read in full, newest first.
SELECT {record_columns}
FROM record r JOIN record_head h ON h.tenant = r.tenant AND h.id = r.id
WHERE r.tenant = :tenant AND r.handle_key = ANY(CAST(:keys AS bytea[])) AND r.state <= 2
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
ORDER BY r.created_at DESC, r.id DESC LIMIT :most

-- fetch_heads --
-- Fetch records that the caller may read in full, without their content, to rank more than will be shown.
SELECT {head_columns}, NULL::text AS name, NULL::text AS text, NULL::jsonb AS payload, NULL::jsonb AS provenance,
  NULL::jsonb AS interpretation, NULL::jsonb AS learned_tools, NULL::bytea AS sealed
FROM record_head h
WHERE h.tenant = :tenant AND h.id = ANY(CAST(:ids AS uuid[])) AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[])))
  AND h.sensitivity <= :ceiling

-- fetch_ranking --
-- Fetch what ranks the given records, and their neighbours in threads, of those that the caller may read in full.
-- `covered` has bit n - 1 set where the record has the n-th of the terms, at most 64 of them, and `score` is the inner
-- product of its impacts with :vector. `fingerprint` are the first :sketch
-- terms of an event, or the key of a fact: records that say the same have the same, or nearly. `quoted` are the first
-- :sketch other terms of a fact that has all terms of :template. Only records of :near have
-- neighbours; those are fetched as the given records are, if they are of the given types and hold at :now. Of the first
-- :relating of them, so are :related records to which they have relations other than :lineage, of the :followed heaviest.
-- `state` is 4 for a fact that holds never. With :by_time, a superseded fact that says no start or end has those by the
-- dates, and so has the start of one that followed it; and the times that a text names are read.
-- `is_bare` is true for an entity whose payload has no keys but :naming, if it is not sealed.
-- LIMIT 1 keeps each a look-up: for hundreds of ids, the planner reads a whole index or table of a small store.
-- Prepared: each record is a look-up.
WITH near AS MATERIALIZED (
  {thread_neighbours}
), lineage AS MATERIALIZED (
  SELECT coalesce(array_agg(p.id), '{}') AS ids FROM predicate p
  WHERE p.tenant = :tenant AND p.name = ANY(CAST(:lineage AS text[]))
), related AS MATERIALIZED (
  SELECT asked.id, ARRAY(SELECT e.far FROM (
      ({relations_out} LIMIT :followed)
      UNION ALL
      ({relations_in} LIMIT :followed)
    ) e WHERE e.predicate <> ALL(CAST((SELECT ids FROM lineage) AS integer[])) LIMIT :related
  ) AS ids
  FROM unnest((SELECT (CAST(:near AS uuid[]))[1:CAST(:relating AS integer)])) AS asked(id)
)
SELECT h.id, h.type, h.confidence, h.occurred_at, h.created_at, h.s, h.t0, h.pinned, h.curve, h.half_life_s,
  h.min_salience, h.max_age_s, h.params, h.covered, h.score, h.fingerprint, h.quoted, h.is_bare,
  h.state, h.valid_from, h.valid_to, h.named_from, h.named_to, near.before, near.after, related.ids
FROM (
  SELECT unnest((SELECT CAST(:ids AS uuid[]))) AS id
  UNION SELECT unnest(before || after) FROM near UNION SELECT unnest(ids) FROM related
) AS asked
CROSS JOIN LATERAL (
  SELECT r.id, r.type, r.confidence, r.occurred_at, r.created_at, s.s, s.t0, s.pinned, s.curve, s.half_life_s,
    s.min_salience, s.max_age_s, s.params, (
    SELECT coalesce(bit_or(1::bigint << (asked.place::integer - 1)), 0)
    FROM unnest((SELECT CAST(:terms AS integer[]))) WITH ORDINALITY AS asked(term, place) WHERE asked.term = ANY (r.terms)
  ) AS covered, -(r.impacts <#> (SELECT CAST(CAST(:vector AS text) AS sparsevec))) AS score,
  CASE r.type WHEN 1 THEN array_send(r.terms[1:CAST(:sketch AS integer)]) WHEN 4 THEN r.fact_key END AS fingerprint,
  CASE WHEN r.type = 4 AND r.terms @> CAST(:template AS integer[]) THEN array_send((ARRAY(
    SELECT term FROM unnest(r.terms) AS term WHERE term <> ALL(CAST(:template AS integer[])) ORDER BY term
  ))[1:CAST(:sketch AS integer)]) END AS quoted,
  r.type = 3 AND r.payload - CAST(:naming AS text[]) = '{}' AND position(E'\n' IN r.text) = 0 AS is_bare,
  CASE WHEN isempty(r.validity) THEN 4 ELSE r.state END AS state,
  CASE WHEN :by_time THEN {valid_from} ELSE lower(r.validity) END AS valid_from,
  CASE WHEN :by_time THEN {valid_to} ELSE upper(r.validity) END AS valid_to,
  CASE WHEN :by_time THEN (SELECT array_agg(lower(time)) FROM unnest(r.named_times) AS time) END AS named_from,
  CASE WHEN :by_time THEN (SELECT array_agg(upper(time)) FROM unnest(r.named_times) AS time) END AS named_to
  FROM record r JOIN salience s ON s.tenant = r.tenant AND s.id = r.id
  WHERE r.tenant = :tenant AND r.id = asked.id
    AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
  LIMIT 1
) h
LEFT JOIN near ON near.id = h.id
LEFT JOIN related ON related.id = h.id

-- valid_from --
-- Fragment: since when a fact (`r`) has held: as it states, or else by its date.
-- By its date only if it was superseded, or followed one that was in a slot with one value at a time.
CASE WHEN lower(r.validity) IS NOT NULL THEN lower(r.validity)
  WHEN r.type = 4 AND (r.state = 3 OR r.single_valued AND EXISTS (
    SELECT FROM record s
    WHERE s.tenant = r.tenant AND s.scope = r.scope AND s.sensitivity = r.sensitivity AND s.slot_key = r.slot_key
      AND s.type = 4 AND s.state = 3 AND coalesce(lower(s.validity), s.occurred_at) < r.occurred_at))
  THEN least(r.occurred_at, r.created_at) END

-- valid_to --
-- Fragment: until when a fact (`r`) has held: as it states, or else until another value took its place.
CASE WHEN r.type = 4 AND r.state = 3 THEN coalesce(upper(r.validity), {superseded_from}, r.updated_at)
  ELSE upper(r.validity) END

-- held_at --
-- Fragment: whether a record (`r`) is no fact, or a fact that held at :valid_at and was not withdrawn.
(r.type <> 4 OR r.state <= 3 AND NOT isempty(r.validity) AND coalesce({valid_from} <= CAST(:valid_at AS timestamptz), true)
  AND coalesce({valid_to} > CAST(:valid_at AS timestamptz), true))

-- find_held --
-- Find those of the given records that are no facts, or facts that held at :valid_at, of those that the caller may read
-- in full.
SELECT r.id FROM record r
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[])) AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[])))
  AND r.sensitivity <= :ceiling AND {held_at}

-- superseded_from --
-- Fragment: since when another value has held in the place of a superseded fact (`r`).
-- That is the next one in its slot, if it has one at a time, or else what superseded it, as far as the caller may read
-- that in full. What begins with it replaced it from its begin on, if it is current or newer: it was corrected.
CASE WHEN r.single_valued THEN (
  SELECT min(coalesce(lower(s.validity), s.occurred_at)) FROM record s
  WHERE s.tenant = r.tenant AND s.scope = r.scope AND s.sensitivity = r.sensitivity AND s.slot_key = r.slot_key
    AND s.type = 4 AND s.state <= 3 AND s.id <> r.id
    AND coalesce(lower(s.validity), s.occurred_at) >= coalesce(lower(r.validity), r.occurred_at)
    AND (s.state < 3 OR s.id > r.id OR coalesce(lower(s.validity), s.occurred_at) > coalesce(lower(r.validity), r.occurred_at))
) ELSE (
  SELECT min(coalesce(lower(s.validity), s.occurred_at)) FROM relation_in_sight e
  JOIN record s ON s.tenant = e.tenant AND s.id = e.source
  WHERE e.tenant = r.tenant AND e.target = r.id AND e.ended_at IS NULL
    AND e.predicate = (SELECT p.id FROM predicate p WHERE p.tenant = r.tenant AND p.name = 'supersedes')
    AND (:all_scopes OR s.scope = ANY(CAST(:scopes AS integer[]))) AND s.sensitivity <= :ceiling
) END

-- relations_out --
-- Fragment: relations from a record to others that the caller may read in full, heaviest first; facts hold at :now.
SELECT e.target AS far, e.predicate FROM relation_in_sight e
WHERE e.tenant = :tenant AND e.source = asked.id AND e.ended_at IS NULL AND NOT e.target_past AND e.target_is_current
  AND (:all_scopes OR e.target_scope = ANY(CAST(:scopes AS integer[]))) AND e.target_sensitivity <= :ceiling
  AND coalesce(e.target_validity @> CAST(:now AS timestamptz), true)
ORDER BY e.weight DESC, e.id

-- relations_in --
-- Fragment: the relations to a record from others, as relations_out.
SELECT e.source AS far, e.predicate FROM relation_in_sight e
WHERE e.tenant = :tenant AND e.target = asked.id AND e.ended_at IS NULL AND NOT e.source_past AND e.source_is_current
  AND (:all_scopes OR e.source_scope = ANY(CAST(:scopes AS integer[]))) AND e.source_sensitivity <= :ceiling
  AND coalesce(e.source_validity @> CAST(:now AS timestamptz), true)
ORDER BY e.weight DESC, e.id

-- fetch_records_of_threads --
-- Fetch the newest records of threads: of the newest 64 episodes of each, at most :most events, and :all in all.
-- Also the episodes and the working records. Threads are given by their keys, working records by their handles.
WITH episodes AS MATERIALIZED (
  SELECT e.id FROM unnest(CAST(:threads AS bytea[])) AS asked(key) CROSS JOIN LATERAL (
    SELECT e.id FROM episode e WHERE e.tenant = :tenant AND e.thread_key = asked.key ORDER BY e.opened_at DESC LIMIT 64
  ) e
)
SELECT id FROM episodes
UNION (SELECT v.record FROM episodes CROSS JOIN LATERAL (
  SELECT v.record FROM episode_event v WHERE v.tenant = :tenant AND v.episode = episodes.id
  ORDER BY v.position DESC LIMIT :most
) v LIMIT CAST(:all AS integer))
UNION SELECT r.id FROM record r
WHERE r.tenant = :tenant AND r.handle_key = ANY(CAST(:handles AS bytea[])) AND r.type = 2 AND r.state = 1

-- fetch_thread_neighbours --
-- Fetch the neighbours in threads of the given records.
-- Prepared: keys only, found by indexes.
{thread_neighbours}

-- thread_neighbours --
-- Fragment: for each record of :near that is an event of an episode, the :steps events before it and after it that the
-- caller may read in full, nearest first. Events that are hidden, or no longer current, are passed over, so that they
-- change no distance.
SELECT asked.id, ARRAY(
    SELECT v.record FROM episode_event v
    CROSS JOIN LATERAL (
      SELECT FROM record r WHERE r.tenant = :tenant AND r.id = v.record AND {is_neighbour} LIMIT 1
    ) r
    WHERE v.tenant = :tenant AND v.episode = own.episode AND v.position < own.position
    ORDER BY v.position DESC LIMIT CAST(:steps AS integer)
  ) AS before, ARRAY(
    SELECT v.record FROM episode_event v
    CROSS JOIN LATERAL (
      SELECT FROM record r WHERE r.tenant = :tenant AND r.id = v.record AND {is_neighbour} LIMIT 1
    ) r
    WHERE v.tenant = :tenant AND v.episode = own.episode AND v.position > own.position
    ORDER BY v.position LIMIT CAST(:steps AS integer)
  ) AS after
FROM unnest((SELECT CAST(:near AS uuid[]))) AS asked(id)
CROSS JOIN LATERAL (
  SELECT v.episode, v.position FROM episode_event v WHERE v.tenant = :tenant AND v.record = asked.id LIMIT 1
) own

-- is_neighbour --
-- Fragment: whether a record (`r`) may be in an answer.
r.type = ANY(CAST(:types AS smallint[])) AND r.state <= 2 AND (r.validity IS NULL OR r.validity @> CAST(:now AS timestamptz))
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling

-- fetch_records --
-- Fetch records by id: in full up to the ceiling, redacted one level above it, none beyond.
-- `holds` is whether the validity includes the instant :at, or :now for a redacted record.
-- Prepared: each record is a look-up.
SELECT {record_columns}, coalesce(
  h.validity @> CASE WHEN r.id IS NULL THEN CAST(:now AS timestamptz) ELSE CAST(:at AS timestamptz) END, true) AS holds
FROM (SELECT DISTINCT id FROM unnest((SELECT CAST(:ids AS uuid[]))) AS given(id)) asked
  CROSS JOIN LATERAL (SELECT * FROM record_head h WHERE h.tenant = :tenant AND h.id = asked.id LIMIT 1) h
  LEFT JOIN record r ON r.tenant = h.tenant AND r.id = h.id AND r.sensitivity <= :ceiling
WHERE (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling + 1

-- fetch_relations --
-- Fetch relations by id; the caller must be able to read one end in full and the other at least redacted.
-- Prepared: keys only, found by an index.
SELECT e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM relation_in_sight e
WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
  AND (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
  AND least(e.source_sensitivity, e.target_sensitivity) <= :ceiling
  AND greatest(e.source_sensitivity, e.target_sensitivity) <= :ceiling + 1

-- fetch_relations_of --
-- Fetch at most :limit relations from or to each of the given records, heaviest first.
-- Where :limit cuts, those with a redacted record are left out before others; a LIMIT of 0 reads nothing.
SELECT asked.id AS asked, e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
  SELECT e.* FROM (
    (WITH in_full AS MATERIALIZED (
     SELECT e.*, false AS is_redacted FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.source = asked.id AND e.ended_at IS NULL
       AND (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
       AND greatest(e.source_sensitivity, e.target_sensitivity) <= :ceiling
     ORDER BY e.weight DESC, e.id LIMIT :limit)
     SELECT * FROM in_full
     UNION ALL
     (SELECT e.*, true FROM relation_in_sight e
      WHERE e.tenant = :tenant AND e.source = asked.id AND e.ended_at IS NULL
        AND (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
        AND least(e.source_sensitivity, e.target_sensitivity) <= :ceiling
        AND greatest(e.source_sensitivity, e.target_sensitivity) = :ceiling + 1
      ORDER BY e.weight DESC, e.id LIMIT :limit - (SELECT count(*) FROM in_full)))
    UNION ALL
    (WITH in_full AS MATERIALIZED (
     SELECT e.*, false AS is_redacted FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.target = asked.id AND e.source <> asked.id AND e.ended_at IS NULL
       AND (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
       AND greatest(e.source_sensitivity, e.target_sensitivity) <= :ceiling
     ORDER BY e.weight DESC, e.id LIMIT :limit)
     SELECT * FROM in_full
     UNION ALL
     (SELECT e.*, true FROM relation_in_sight e
      WHERE e.tenant = :tenant AND e.target = asked.id AND e.source <> asked.id AND e.ended_at IS NULL
        AND (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
        AND least(e.source_sensitivity, e.target_sensitivity) <= :ceiling
        AND greatest(e.source_sensitivity, e.target_sensitivity) = :ceiling + 1
      ORDER BY e.weight DESC, e.id LIMIT :limit - (SELECT count(*) FROM in_full)))
  ) e
  ORDER BY e.is_redacted, e.weight DESC, e.id LIMIT :limit
) e
ORDER BY asked.id, e.weight DESC, e.id

-- find_visible --
-- Find those of the given records that the caller may see, in full or redacted.
SELECT h.id FROM record_head h
WHERE h.tenant = :tenant AND h.id = ANY(CAST(:ids AS uuid[])) AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[])))
  AND h.sensitivity <= :ceiling + 1

-- head_columns --
-- Fragment: the columns of a record's head (`h`, of the view record_head).
-- They are what ranks a record, and all that a caller sees of a redacted one.
h.id, h.type, h.scope, h.sensitivity, h.is_current, h.state, h.confidence, h.tags, h.created_at, h.occurred_at,
  h.updated_at, h.version, h.s, h.t0, h.curve, h.half_life_s, h.min_salience, h.max_age_s, h.reinforcement_gain,
  h.params, h.pinned, h.deletion_policy, h.last_reinforced_at, lower(h.validity) AS valid_from,
  upper(h.validity) AS valid_to

-- record_columns --
-- Fragment: all columns of a record: its head, and its content from `r`, which is null above the ceiling.
{head_columns}, r.name, r.text, r.payload, r.provenance, r.interpretation,
  r.learned_state -> 'tools' AS learned_tools, r.sealed
