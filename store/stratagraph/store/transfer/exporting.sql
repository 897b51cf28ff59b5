-- is_exported --
-- Fragment: whether a record (`r`) is in the export: the caller may read it in full, and its type is asked for.
(:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
  AND (:all_types OR r.type = ANY(CAST(:types AS smallint[])))

-- export_keys --
-- Find the next records of an export, by id, with the bytes that their content takes in the database.
SELECT r.id, r.row_version > 1 AS has_history, coalesce(pg_column_size(r.payload), 0)
  + coalesce(pg_column_size(r.text), 0) + coalesce(pg_column_size(r.provenance), 0)
  + coalesce(pg_column_size(r.interpretation), 0) + coalesce(pg_column_size(r.sealed), 0)
  + CASE WHEN r.row_version > 1 THEN (
      SELECT coalesce(sum(h.bytes), 0) FROM (
        SELECT coalesce(pg_column_size(h.payload), 0) + coalesce(pg_column_size(h.text), 0)
          + coalesce(pg_column_size(h.provenance), 0) + coalesce(pg_column_size(h.sealed), 0) AS bytes
        FROM record_history h WHERE h.tenant = r.tenant AND h.id = r.id ORDER BY h.row_version LIMIT :versions
      ) h) ELSE 0 END AS bytes
FROM record r
WHERE r.tenant = :tenant AND r.id > CAST(:after AS uuid) AND {is_exported}
ORDER BY r.id LIMIT :most

-- export_sources --
-- Find the next records of an export, by id, whose relations are to be read.
SELECT r.id FROM record r
WHERE r.tenant = :tenant AND r.id > CAST(:after AS uuid) AND {is_exported}
ORDER BY r.id LIMIT :most

-- find_exported --
-- Find those of the given ids that are records or tombstones which the caller may read in full.
SELECT r.id FROM record r
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[]))
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
UNION
SELECT t.id FROM tombstone t
WHERE t.tenant = :tenant AND t.id = ANY(CAST(:ids AS uuid[]))
  AND (:all_scopes OR t.scope = ANY(CAST(:scopes AS integer[]))) AND t.sensitivity <= :ceiling

-- export_records --
-- Read records with their salience, and what a fact, an episode and a lesson have besides.
-- Prepared: keys only, found by indexes.
SELECT r.id, r.type, r.scope, r.sensitivity, r.state, r.version, r.confidence, r.tags, r.created_at, r.occurred_at,
  r.updated_at, r.name, r.text, r.payload, r.provenance, r.interpretation, r.learned_state, r.sealed,
  CASE WHEN r.named_times IS NOT NULL THEN
    (SELECT array_agg(ARRAY[lower(t), upper(t)] ORDER BY t) FROM unnest(r.named_times) AS t) END AS named_times,
  r.single_valued, lower(r.validity) AS valid_from, upper(r.validity) AS valid_to, isempty(r.validity) AS is_empty,
  r.lesson_key IS NOT NULL AS is_lesson, r.lesson_authors,
  s.s, s.t0, s.curve, s.half_life_s, s.min_salience, s.max_age_s, s.reinforcement_gain, s.params, s.pinned,
  s.deletion_policy, s.last_reinforced_at,
  f.evidence_at, lower(f.stated) AS stated_from, upper(f.stated) AS stated_to, isempty(f.stated) AS is_stated_empty,
  f.subject_entity, f.subject_is_ambiguous, f.object_entity,
  e.opened_at, e.closes_at, e.closed_at, e.outcome, e.learned_at, e.learned_stages, e.awaits_skill,
  u.retrievals, u.helpful, u.retrieved_at
FROM unnest((SELECT CAST(:ids AS uuid[]))) AS asked(id)
CROSS JOIN LATERAL (SELECT * FROM record r WHERE r.tenant = :tenant AND r.id = asked.id LIMIT 1) r
CROSS JOIN LATERAL (SELECT * FROM salience s WHERE s.tenant = :tenant AND s.id = asked.id LIMIT 1) s
LEFT JOIN LATERAL (SELECT * FROM fact f WHERE r.type = 4 AND f.tenant = :tenant AND f.id = r.id LIMIT 1) f ON true
LEFT JOIN LATERAL (SELECT * FROM episode e WHERE r.type = 1 AND e.tenant = :tenant AND e.id = r.id LIMIT 1) e ON true
LEFT JOIN LATERAL (
  SELECT * FROM lesson_use u WHERE r.lesson_key IS NOT NULL AND u.tenant = :tenant AND u.id = r.id LIMIT 1
) u ON true

-- export_versions --
-- Read the next earlier versions of records, the oldest first, after the given row version.
-- Prepared: keys only, found by indexes.
SELECT h.id, h.row_version, h.from_at, h.to_at, h.version, h.state, h.sensitivity, h.confidence, h.tags, h.occurred_at,
  h.name, h.text, h.payload, h.provenance, h.interpretation, h.learned_state, h.sealed,
  h.validity IS NULL AS has_no_validity, lower(h.validity) AS valid_from, upper(h.validity) AS valid_to,
  isempty(h.validity) AS is_empty
FROM unnest((SELECT CAST(:ids AS uuid[]))) AS asked(id)
CROSS JOIN LATERAL (
  SELECT * FROM record_history h
  WHERE h.tenant = :tenant AND h.id = asked.id AND h.row_version > CAST(:after AS bigint)
    AND h.sensitivity <= :ceiling
  ORDER BY h.row_version LIMIT CAST(:most AS integer)
) h

-- export_entries --
-- Read the next entries of the audit logs of records, the oldest first, after the given number.
-- A rationale about what is above the ceiling is left out.
-- Prepared: keys only, found by indexes.
SELECT a.id, a.seq, a.action, a.actor, a.at, a.salience, n.rationale, n.sealed, n.sensitivity
FROM unnest((SELECT CAST(:ids AS uuid[]))) AS asked(id)
CROSS JOIN LATERAL (
  SELECT * FROM audit a WHERE a.tenant = :tenant AND a.id = asked.id AND a.seq > CAST(:after AS integer)
  ORDER BY a.seq LIMIT CAST(:most AS integer)
) a
LEFT JOIN LATERAL (
  SELECT * FROM audit_note n
  WHERE n.tenant = :tenant AND n.id = a.id AND n.seq = a.seq AND coalesce(n.sensitivity, 0) <= :ceiling LIMIT 1
) n ON true

-- export_last_entries --
-- Read the last entries of the audit logs of removed records, the newest first.
-- Prepared: keys only, found by indexes.
SELECT a.id, a.seq, a.action, a.actor, a.at, a.salience, n.rationale, n.sealed, n.sensitivity
FROM unnest((SELECT CAST(:ids AS uuid[]))) AS asked(id)
CROSS JOIN LATERAL (
  SELECT * FROM audit a WHERE a.tenant = :tenant AND a.id = asked.id ORDER BY a.seq DESC LIMIT CAST(:most AS integer)
) a
LEFT JOIN LATERAL (
  SELECT * FROM audit_note n
  WHERE n.tenant = :tenant AND n.id = a.id AND n.seq = a.seq AND coalesce(n.sensitivity, 0) <= :ceiling LIMIT 1
) n ON true

-- export_lifecycles --
-- Read how records decayed earlier.
-- Prepared: keys only, found by indexes.
SELECT l.id, l.to_at, l.curve, l.half_life_s, l.min_salience, l.max_age_s, l.reinforcement_gain, l.params, l.pinned,
  l.deletion_policy
FROM unnest((SELECT CAST(:ids AS uuid[]))) AS asked(id)
CROSS JOIN LATERAL (
  SELECT * FROM lifecycle_history l WHERE l.tenant = :tenant AND l.id = asked.id ORDER BY l.to_at LIMIT 100000
) l

-- export_trims --
-- Read where facts are trimmed by others that the caller may read in full.
-- Prepared: keys only, found by indexes.
SELECT t.fact AS id, t.by_fact, t.side, t.at
FROM unnest((SELECT CAST(:ids AS uuid[]))) AS asked(id)
CROSS JOIN LATERAL (SELECT * FROM fact_trim t WHERE t.tenant = :tenant AND t.fact = asked.id LIMIT 100000) t
CROSS JOIN LATERAL (
  SELECT FROM record r WHERE r.tenant = :tenant AND r.id = t.by_fact
    AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling LIMIT 1
) r

-- export_members --
-- Read the members of episodes that the caller may read in full, in order of arrival.
-- Prepared: keys only, found by indexes.
SELECT v.episode AS id, v.position, v.record
FROM unnest((SELECT CAST(:ids AS uuid[]))) AS asked(id)
CROSS JOIN LATERAL (
  SELECT * FROM episode_event v WHERE v.tenant = :tenant AND v.episode = asked.id ORDER BY v.position LIMIT 10000000
) v
CROSS JOIN LATERAL (
  SELECT FROM record r WHERE r.tenant = :tenant AND r.id = v.record
    AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling LIMIT 1
) r

-- export_references --
-- Read the references of records to artifacts.
-- Prepared: keys only, found by indexes.
SELECT f.record AS id, f.sha256, f.media_type
FROM unnest((SELECT CAST(:ids AS uuid[]))) AS asked(id)
CROSS JOIN LATERAL (
  SELECT * FROM artifact_reference f WHERE f.tenant = :tenant AND f.record = asked.id LIMIT 100000
) f

-- export_artifacts --
-- Find the next artifacts to which exported records refer, by hash.
SELECT a.sha256, a.size_bytes FROM artifact a
WHERE a.tenant = :tenant AND a.sha256 > CAST(:after AS bytea) AND (
  SELECT true FROM artifact_reference f JOIN record r ON r.tenant = f.tenant AND r.id = f.record
  WHERE f.tenant = a.tenant AND f.sha256 = a.sha256 AND {is_exported} LIMIT 1)
ORDER BY a.sha256 LIMIT :most

-- export_predicates --
-- Read the predicates of facts that the tenant has registered.
SELECT predicate, single_valued, object_kind FROM fact_predicate WHERE tenant = :tenant

-- export_relations --
-- Read the relations of records to others of the export, heaviest first, after the given weight and id.
-- Prepared: keys only, found by indexes.
SELECT e.id, e.source, e.target, e.predicate, e.weight, e.created_at, e.ended_at
FROM unnest((SELECT CAST(:ids AS uuid[]))) AS asked(id)
CROSS JOIN LATERAL (
  SELECT e.* FROM relation_in_sight e
  WHERE e.tenant = :tenant AND e.source = asked.id
    AND (e.weight < CAST(:weight AS float8) OR e.weight = CAST(:weight AS float8) AND e.id > CAST(:after AS uuid))
    AND (SELECT true FROM record r WHERE r.tenant = e.tenant AND r.id = e.target AND {is_exported} LIMIT 1)
  ORDER BY e.weight DESC, e.id LIMIT CAST(:most AS integer)
) e

-- export_tombstones --
-- Read the next tombstones of an export, by id.
SELECT r.id, r.type, r.scope, r.sensitivity, r.cause, r.at, r.entities, r.learned
FROM tombstone r
WHERE r.tenant = :tenant AND r.id > CAST(:after AS uuid) AND {is_exported}
ORDER BY r.id LIMIT :most

-- hold_snapshot --
-- Export the snapshot of this transaction, which may then wait for its client for :idle.
SELECT pg_export_snapshot() AS snapshot, set_config('idle_in_transaction_session_timeout', :idle, true) AS idle
