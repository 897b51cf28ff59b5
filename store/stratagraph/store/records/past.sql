-- episode_records --
-- Fetch the first records of each episode, in order of arrival.
SELECT v.episode, v.record
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
  SELECT episode, record, position FROM episode_event
  WHERE tenant = :tenant AND episode = asked.id ORDER BY position LIMIT :most
) v
ORDER BY v.episode, v.position

-- fetch_last_current --
-- Fetch the instant at which a record was last part of the current truth, up to :at; null if it never was before.
SELECT max(to_at) AS at FROM record_history
WHERE tenant = :tenant AND id = :id AND state IN (1, 2) AND to_at <= CAST(:at AS timestamptz)

-- fetch_records_at --
-- Fetch records as of their instants; the caller must be able to read them in full then and now.
-- :ids and :instants are parallel arrays. Salience is computed from the last event before the instant and from the
-- lifecycle that applied at it. A version that an earlier release wrote has no validity: the present one applies.
-- Prepared: each record is a look-up, and planning takes as long as reading a hundred.
SELECT asked.at AS instant, r.*, s.*
FROM unnest(CAST(:ids AS uuid[]), CAST(:instants AS timestamptz[])) AS asked(id, at)
JOIN record n ON n.tenant = :tenant AND n.id = asked.id AND n.created_at <= asked.at
  AND (:all_scopes OR n.scope = ANY(CAST(:scopes AS integer[]))) AND n.sensitivity <= :ceiling
CROSS JOIN LATERAL (
  SELECT n.id, n.type, n.scope, n.sensitivity, n.state, n.confidence, n.tags, n.name, n.text,
    n.payload, n.provenance, n.interpretation, n.learned_state -> 'tools' AS learned_tools, n.sealed,
    n.created_at, n.occurred_at, n.updated_at, n.version,
    lower(n.validity) AS valid_from, upper(n.validity) AS valid_to
  WHERE n.updated_at <= asked.at
  UNION ALL
  (SELECT h.id, h.type, h.scope, h.sensitivity, h.state, h.confidence, h.tags, h.name, h.text,
    h.payload, h.provenance, h.interpretation, h.learned_state -> 'tools', h.sealed, n.created_at, h.occurred_at, h.from_at, h.version,
    lower(coalesce(h.validity, n.validity)), upper(coalesce(h.validity, n.validity))
   FROM record_history h
   WHERE n.updated_at > asked.at AND h.tenant = n.tenant AND h.id = n.id AND h.from_at <= asked.at AND asked.at < h.to_at
   ORDER BY h.row_version DESC LIMIT 1)
) r
CROSS JOIN LATERAL (
  SELECT event.salience AS s, event.at AS t0, curve, half_life_s, min_salience, max_age_s, reinforcement_gain, params,
    pinned, deletion_policy, (
      SELECT a.at FROM audit a
      WHERE a.tenant = n.tenant AND a.id = n.id AND a.at <= asked.at AND a.action IN ('create', 'reinforce')
      ORDER BY a.seq DESC LIMIT 1) AS last_reinforced_at
  FROM (
    SELECT a.salience, a.at FROM audit a
    WHERE a.tenant = n.tenant AND a.id = n.id AND a.at <= asked.at AND a.salience IS NOT NULL
    ORDER BY a.seq DESC LIMIT 1
  ) event
  CROSS JOIN (
    SELECT l.to_at, l.curve, l.half_life_s, l.min_salience, l.max_age_s, l.reinforcement_gain, l.params, l.pinned,
      l.deletion_policy
    FROM lifecycle_history l WHERE l.tenant = n.tenant AND l.id = n.id AND l.to_at > asked.at
    UNION ALL
    SELECT 'infinity', p.curve, p.half_life_s, p.min_salience, p.max_age_s, p.reinforcement_gain, p.params, p.pinned,
      p.deletion_policy
    FROM salience p WHERE p.tenant = n.tenant AND p.id = n.id
    ORDER BY to_at LIMIT 1
  ) lifecycle
) s
WHERE (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling

-- fetch_relations_at --
-- Fetch relations by id that existed at an instant; the caller must be able to read both ends in full then and now.
SELECT e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM relation_in_sight e
WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[])) AND e.created_at <= :at
  AND (e.ended_at IS NULL OR e.ended_at > :at)
  AND 2 = (
    SELECT count(*) FROM record r
    WHERE r.tenant = e.tenant AND r.id IN (e.source, e.target) AND r.created_at <= :at
      AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
      AND (r.updated_at <= :at OR EXISTS (
        SELECT FROM record_history h
        WHERE h.tenant = r.tenant AND h.id = r.id AND h.from_at <= :at AND h.to_at > :at
          AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling)))

-- fetch_relations_of_at --
-- Fetch at most :limit relations of each record as of its instant, heaviest first.
-- The caller must be able to read both ends in full then and now. Open relations are read from their index. Few
-- relations have ended, so those are read once for all records.
WITH asked AS MATERIALIZED (
  SELECT id, at FROM unnest(CAST(:ids AS uuid[]), CAST(:instants AS timestamptz[])) AS asked(id, at)
), ended AS MATERIALIZED (
  SELECT * FROM relation_in_sight
  WHERE tenant = :tenant AND source = ANY(CAST(:ids AS uuid[])) AND ended_at > (SELECT min(at) FROM asked)
  UNION
  SELECT * FROM relation_in_sight
  WHERE tenant = :tenant AND target = ANY(CAST(:ids AS uuid[])) AND ended_at > (SELECT min(at) FROM asked)
)
SELECT asked.id AS asked, asked.at AS instant, e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM asked
CROSS JOIN LATERAL (
  SELECT e.* FROM (
    SELECT *, target AS far FROM relation_in_sight WHERE tenant = :tenant AND source = asked.id AND ended_at IS NULL
    UNION ALL
    SELECT *, source AS far FROM relation_in_sight
    WHERE tenant = :tenant AND target = asked.id AND source <> asked.id AND ended_at IS NULL
    UNION ALL
    SELECT *, CASE WHEN source = asked.id THEN target ELSE source END AS far FROM ended
    WHERE asked.id IN (source, target) AND ended_at > asked.at
  ) e
  WHERE e.created_at <= asked.at AND 2 = (
    SELECT count(*) FROM record r
    WHERE r.tenant = :tenant AND r.id IN (asked.id, e.far) AND r.created_at <= asked.at
      AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
      AND (r.updated_at <= asked.at OR EXISTS (
        SELECT FROM record_history h
        WHERE h.tenant = r.tenant AND h.id = r.id AND h.from_at <= asked.at AND h.to_at > asked.at
          AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling)))
  ORDER BY e.weight DESC, e.id LIMIT :limit
) e
ORDER BY asked.id, asked.at, e.weight DESC, e.id

-- fetch_versions --
-- Fetch the versions of one record, newest first, that the caller may read in full then and now.
SELECT v.row_version, v.from_at, v.to_at
FROM record r
CROSS JOIN LATERAL (
  SELECT r.row_version, r.updated_at AS from_at, NULL::timestamptz AS to_at, r.scope, r.sensitivity
  UNION ALL
  SELECT h.row_version, h.from_at, h.to_at, h.scope, h.sensitivity
  FROM record_history h WHERE h.tenant = r.tenant AND h.id = r.id
) v
WHERE r.tenant = :tenant AND r.id = :id AND (CAST(:before AS bigint) IS NULL OR v.row_version < CAST(:before AS bigint))
  AND (:all_scopes OR (r.scope = ANY(CAST(:scopes AS integer[])) AND v.scope = ANY(CAST(:scopes AS integer[]))))
  AND greatest(r.sensitivity, v.sensitivity) <= :ceiling
ORDER BY v.row_version DESC LIMIT :first
