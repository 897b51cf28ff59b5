-- delete_relations_of --
-- Delete at most :limit relations of the given records.
-- In key order, skipping locked rows: two transactions that delete the two ends of one relation never wait for each
-- other.
WITH ends AS (
  SELECT * FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
), found AS (
  SELECT e.tenant, e.id FROM ends a JOIN relation e ON e.tenant = a.tenant AND e.source = a.id
  UNION
  SELECT e.tenant, e.id FROM ends a JOIN relation e ON e.tenant = a.tenant AND e.target = a.id
  LIMIT :limit
), held AS (
  SELECT e.tenant, e.id FROM relation e JOIN found f ON e.tenant = f.tenant AND e.id = f.id
  ORDER BY e.tenant, e.id FOR UPDATE OF e SKIP LOCKED
)
DELETE FROM relation e USING held h WHERE e.tenant = h.tenant AND e.id = h.id
RETURNING e.tenant, e.id, e.row_version, e.source, e.target, e.ended_at IS NULL AS was_open

-- end_waiting --
-- Let the next batch check the given entities again, because a record that referred to them was pruned.
WITH waiting AS (
  SELECT s.tenant, s.id FROM salience s
  JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id) ON s.tenant = a.tenant AND s.id = a.id
  WHERE s.check_at IS NOT NULL
  ORDER BY s.tenant, s.id FOR UPDATE OF s SKIP LOCKED
)
UPDATE salience s SET check_at = NULL FROM waiting w WHERE s.tenant = w.tenant AND s.id = w.id

-- episodes_of --
-- Fetch the episodes that the given records are or belong to.
SELECT a.tenant, a.id, e.id AS episode
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
JOIN episode e ON e.tenant = a.tenant AND e.id = a.id
UNION ALL
SELECT a.tenant, a.id, v.episode
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
JOIN episode_event v ON v.tenant = a.tenant AND v.record = a.id

-- fetch_referenced_entities --
-- Fetch which of the given entities have a live relation to a current record that will not be pruned with them.
SELECT a.tenant, a.id
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
WHERE EXISTS (
  SELECT FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.source
  WHERE e.tenant = a.tenant AND e.target = a.id AND e.ended_at IS NULL AND r.state <= 2
    AND (r.tenant, r.id) NOT IN (SELECT * FROM unnest(CAST(:pruned_tenants AS bigint[]), CAST(:pruned_ids AS uuid[])))
) OR EXISTS (
  SELECT FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.target
  WHERE e.tenant = a.tenant AND e.source = a.id AND e.ended_at IS NULL AND r.state <= 2
    AND (r.tenant, r.id) NOT IN (SELECT * FROM unnest(CAST(:pruned_tenants AS bigint[]), CAST(:pruned_ids AS uuid[])))
)

-- is_unlearned --
-- The condition that a stage of learning, or a language model, has yet to read the episode `e`.
(e.learned_at IS NULL
  OR EXISTS (SELECT FROM extraction x WHERE x.tenant = e.tenant AND x.episode = e.id AND x.state <> 2))

-- is_awaited --
-- The condition that the episode `e` is kept for learning.
({is_unlearned} OR {is_kept})

-- is_kept --
-- The condition that the episode `e` is kept although it was read: for a skill not made yet, or after an undoing.
-- Where what was learned from it was undone, nothing else has what it says, and it may be learned from again.
(e.awaits_skill OR EXISTS (
  SELECT FROM learning_report l WHERE l.tenant = e.tenant AND l.run = e.learned_by AND l.scope = e.scope
    AND l.sensitivity = e.sensitivity AND l.undone_at IS NOT NULL))

-- find_pruned_episodes --
-- Find which of the given records are episodes of threads, or were captured as whole episodes.
SELECT e.tenant, e.id FROM episode e
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id) ON e.tenant = a.tenant AND e.id = a.id

-- forget_rationales --
-- Delete the rationales of the given records.
DELETE FROM audit_note n USING unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
WHERE n.tenant = a.tenant AND n.id = a.id

-- forget_senders --
-- Forget who sent the captures that resulted in the given records.
UPDATE candidate c SET source = NULL
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
WHERE c.tenant = a.tenant AND c.record = a.id

-- lock_due --
-- Lock the records that have been due longest, with the columns that decide whether they may be pruned.
-- Rows locked by other transactions are skipped. The batch is limited before the join, so that a pass reads only rows
-- that are due.
WITH due AS MATERIALIZED (
  SELECT s.* FROM salience s WHERE s.due_at IS NOT NULL AND greatest(s.due_at, s.check_at) <= :now
  ORDER BY greatest(s.due_at, s.check_at) LIMIT :limit FOR UPDATE SKIP LOCKED
)
SELECT r.tenant, r.id, r.type, r.state, r.row_version, r.created_at, s.due_at, s.s, s.t0, s.curve, s.half_life_s,
  s.min_salience, s.max_age_s, s.reinforcement_gain, s.params, s.pinned, s.deletion_policy, s.last_reinforced_at
FROM due s JOIN record r ON r.tenant = s.tenant AND r.id = s.id
FOR UPDATE OF r SKIP LOCKED

-- lock_due_neighbours --
-- Lock the due entities that have a live relation to one of the given entities, skipping what is locked elsewhere.
WITH given AS (
  SELECT * FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
), near AS MATERIALIZED (
  SELECT e.tenant, e.source AS id FROM given a JOIN relation e ON e.tenant = a.tenant AND e.target = a.id
  WHERE e.ended_at IS NULL
  UNION
  SELECT e.tenant, e.target FROM given a JOIN relation e ON e.tenant = a.tenant AND e.source = a.id
  WHERE e.ended_at IS NULL
)
SELECT r.tenant, r.id, r.type, r.state, r.row_version, r.created_at, s.due_at, s.s, s.t0, s.curve, s.half_life_s,
  s.min_salience, s.max_age_s, s.reinforcement_gain, s.params, s.pinned, s.deletion_policy, s.last_reinforced_at
FROM near n
JOIN record r ON r.tenant = n.tenant AND r.id = n.id AND r.type = 3 AND r.state <= 2
JOIN salience s ON s.tenant = n.tenant AND s.id = n.id AND s.due_at <= :now
WHERE (n.tenant, n.id) NOT IN (SELECT * FROM unnest(CAST(:known_tenants AS bigint[]), CAST(:known_ids AS uuid[])))
LIMIT :limit FOR UPDATE OF s, r SKIP LOCKED

-- lock_episodes_learned --
-- Lock the given episodes, skipping locked ones: whether learning has yet to read them, whether they are kept for it,
-- and when they end or ended.
SELECT e.tenant, e.id, {is_unlearned} AS is_unlearned, {is_awaited} AS is_awaited, coalesce(e.closed_at, e.closes_at) AS ends_at
FROM episode e
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id) ON e.tenant = a.tenant AND e.id = a.id
FOR UPDATE OF e SKIP LOCKED

-- postpone_pruning --
-- Set the due instants of records that may not be pruned yet; NULL means not until the due instant is set again.
UPDATE salience s SET due_at = a.due_at
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[]), CAST(:due_at AS timestamptz[])) AS a(tenant, id, due_at)
WHERE s.tenant = a.tenant AND s.id = a.id

-- preview_pruning --
-- Fetch the records that would be pruned by :until, in the order of their due instants.
-- `awaits_learning` is true of an episode that learning is to read first, and of its members. Those are left out that
-- are kept although they were read and whose episode ended after :kept_since, and entities that a current record keeps
-- which would not have been pruned by :until, directly or through other entities. `reach` has those around an entity:
-- `stays` for such a record, `comes` for what makes a pass look at the entities by :until. Its rows are computed as they
-- are read.
SELECT s.id, s.due_at, r.type = 1 AND EXISTS (
    SELECT FROM (
      SELECT s.id AS id
      UNION ALL
      SELECT v.episode FROM episode_event v WHERE v.tenant = s.tenant AND v.record = s.id) m
    JOIN episode e ON e.tenant = s.tenant AND e.id = m.id
    WHERE {is_unlearned} AND coalesce(e.closed_at, e.closes_at) > :kept_since
  ) AS awaits_learning
FROM salience s JOIN record r ON r.tenant = s.tenant AND r.id = s.id
WHERE s.tenant = :tenant AND s.due_at <= :until
  AND (CAST(:after_due AS timestamptz) IS NULL
       OR (s.due_at, s.id) > (CAST(:after_due AS timestamptz), CAST(:after_id AS uuid)))
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
  AND (r.type <> 1 OR NOT EXISTS (
    SELECT FROM (
      SELECT s.id AS id
      UNION ALL
      SELECT v.episode FROM episode_event v WHERE v.tenant = s.tenant AND v.record = s.id) m
    JOIN episode e ON e.tenant = s.tenant AND e.id = m.id
    WHERE {is_kept} AND coalesce(e.closed_at, e.closes_at) > :kept_since))
  AND (r.type <> 3 OR (
    WITH RECURSIVE reach(id, type, stays, comes) AS (
      SELECT s.id, r.type, false, greatest(s.due_at, s.check_at) <= :until
      UNION
      SELECT n.id, n.type,
        ns.due_at IS NULL OR ns.due_at > :until OR n.type = 1 AND EXISTS (
          SELECT FROM (
            SELECT n.id AS id
            UNION ALL
            SELECT v.episode FROM episode_event v WHERE v.tenant = s.tenant AND v.record = n.id) m
          JOIN episode e ON e.tenant = s.tenant AND e.id = m.id
          WHERE {is_awaited} AND coalesce(e.closed_at, e.closes_at) > :kept_since),
        n.type <> 3 OR greatest(ns.due_at, ns.check_at) <= :until
      FROM reach h
      CROSS JOIN LATERAL (
        SELECT e.source AS far FROM relation_in_sight e WHERE e.tenant = s.tenant AND e.target = h.id
          AND e.ended_at IS NULL
        UNION ALL
        SELECT e.target FROM relation_in_sight e WHERE e.tenant = s.tenant AND e.source = h.id AND e.ended_at IS NULL
      ) e
      JOIN record n ON n.tenant = s.tenant AND n.id = e.far
      JOIN salience ns ON ns.tenant = s.tenant AND ns.id = e.far
      WHERE h.type = 3 AND NOT h.stays AND n.state <= 2
        AND (:all_scopes OR n.scope = ANY(CAST(:scopes AS integer[]))) AND n.sensitivity <= :ceiling
    )
    SELECT CASE WHEN greatest(s.due_at, s.check_at) <= :until
      THEN NOT EXISTS (SELECT FROM reach WHERE stays)
      ELSE (SELECT bool_or(comes) AND NOT bool_or(stays) FROM reach) END))
ORDER BY s.due_at, s.id LIMIT :first

-- schedule_learned --
-- Make the given episodes and their members due now if they fell due while they waited for learning.
-- Such a record waits until `check_at`; one that an earlier release has postponed has a later due instant instead.
WITH waiting AS (
  SELECT s.tenant, s.id FROM salience s JOIN record r ON r.tenant = s.tenant AND r.id = s.id
  WHERE s.tenant = :tenant AND (s.due_at IS NULL OR s.due_at > :at OR s.check_at > :at)
    AND s.deletion_policy = 1 AND NOT s.pinned
    AND s.id IN (SELECT unnest(CAST(:ids AS uuid[]))
                 UNION ALL
                 SELECT record FROM episode_event WHERE tenant = :tenant AND episode = ANY(CAST(:ids AS uuid[])))
    AND salience_at(s.s, s.t0, r.created_at, s.curve, s.half_life_s, s.min_salience, s.max_age_s, s.params, s.pinned,
                    :at) < :prune_below
  ORDER BY s.tenant, s.id FOR UPDATE OF s
)
UPDATE salience s SET due_at = least(s.due_at, :at), check_at = NULL FROM waiting w
WHERE s.tenant = w.tenant AND s.id = w.id

-- wait_for_pruning --
-- Let due records wait until :check_at: entities that a current record refers to, or until such a record is pruned, and
-- episodes that are kept for learning, with their members, or until learning is done with them.
UPDATE salience s SET check_at = a.check_at
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[]), CAST(:check_at AS timestamptz[])) AS a(tenant, id, check_at)
WHERE s.tenant = a.tenant AND s.id = a.id

-- unrelated_records --
-- Fetch which of the given locked records have no relations left.
-- None can be added until the transaction ends, because its writer would have to lock the record.
SELECT r.tenant, r.id
FROM record r
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id) ON r.tenant = a.tenant AND r.id = a.id
WHERE NOT EXISTS (SELECT FROM relation e WHERE e.tenant = r.tenant AND e.source = r.id)
  AND NOT EXISTS (SELECT FROM relation e WHERE e.tenant = r.tenant AND e.target = r.id)

-- count_trims_by --
-- Count the trims by the given records; records without trims are left out.
SELECT t.tenant, t.by_fact AS id, count(*) AS n
FROM fact_trim t
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id) ON t.tenant = a.tenant AND t.by_fact = a.id
GROUP BY t.tenant, t.by_fact

-- lock_trimmed --
-- Lock the facts that the given ones trim, and their slots, skipping what is locked elsewhere; one row per trim.
SELECT t.tenant, t.by_fact AS id
FROM fact_trim t
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id) ON t.tenant = a.tenant AND t.by_fact = a.id
JOIN record r ON r.tenant = t.tenant AND r.id = t.fact
JOIN fact_slot s ON s.tenant = r.tenant AND s.scope = r.scope AND s.sensitivity = r.sensitivity
  AND s.slot_key = r.slot_key
FOR UPDATE OF s, r SKIP LOCKED
