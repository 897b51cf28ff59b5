-- due_for_learning --
-- The condition under which a closed episode `e` is due.
e.closed_at IS NOT NULL AND e.learned_at IS NULL
  AND e.closed_at <= CASE WHEN e.outcome IS NULL THEN CAST(:without_outcome AS timestamptz) ELSE CAST(:now AS timestamptz) END
  AND (e.learn_after IS NULL OR e.learn_after <= :now)
  AND NOT e.learned_stages @> CAST(:stages AS text[])

-- find_due_group --
-- Find the first group, in key order, with a due episode.
SELECT e.tenant, e.scope, e.sensitivity FROM episode e
WHERE (e.tenant, e.scope, e.sensitivity) > (:tenant, :scope, :sensitivity) AND {due_for_learning}
ORDER BY e.tenant, e.scope, e.sensitivity, e.closed_at, e.id LIMIT 1

-- fetch_due_episodes --
-- Fetch the due episodes of a group that were closed first.
SELECT e.id, e.closed_at, e.outcome, e.learned_stages FROM episode e
WHERE e.tenant = :tenant AND e.scope = :scope AND e.sensitivity = :sensitivity AND {due_for_learning}
ORDER BY e.closed_at, e.id LIMIT :limit

-- lock_due_episodes --
-- Lock the given episodes that are still due, in the order in which writers lock episodes.
SELECT e.id, e.closed_at, e.outcome, e.learned_stages FROM episode e
WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[])) AND {due_for_learning}
ORDER BY e.scope, e.sensitivity, e.thread_key, e.id FOR NO KEY UPDATE OF e

-- fetch_learned_members --
-- Fetch the records of episodes, each followed by its first members in order of arrival, up to a number of bytes.
-- Stored sizes are counted first, because to know the size of a compressed payload is to read it.
WITH member AS MATERIALIZED (
  SELECT asked.place, v.episode, v.position, r.id,
    coalesce(pg_column_size(r.payload), octet_length(r.sealed)) AS size
  FROM unnest(CAST(:ids AS uuid[])) WITH ORDINALITY AS asked(id, place)
  CROSS JOIN LATERAL (
    SELECT asked.id AS episode, asked.id AS record, 0 AS position
    UNION ALL
    (SELECT episode, record, position FROM episode_event
     WHERE tenant = :tenant AND episode = asked.id ORDER BY position LIMIT :most)
  ) v
  JOIN record r ON r.tenant = :tenant AND r.id = v.record AND r.scope = :scope AND r.sensitivity = :sensitivity
), placed AS (
  SELECT m.*, min(place) OVER () AS first, sum(size) OVER (ORDER BY place) AS with_episode,
    sum(size) OVER (ORDER BY place, position) - size AS before
  FROM member m
), near AS MATERIALIZED (
  SELECT p.place, p.first, p.episode, p.position, p.id,
    coalesce(octet_length(r.payload::text), octet_length(r.sealed)) AS size
  FROM placed p JOIN record r ON r.tenant = :tenant AND r.id = p.id
  WHERE p.with_episode <= :bytes OR (p.place = p.first AND p.before < :bytes)
), counted AS (
  SELECT n.*, sum(size) OVER (ORDER BY place) AS with_episode, sum(size) OVER (ORDER BY place, position) - size AS before
  FROM near n
)
SELECT c.episode, r.id, r.occurred_at, r.payload, r.sealed
FROM counted c JOIN record r ON r.tenant = :tenant AND r.id = c.id
WHERE c.with_episode <= :bytes OR (c.place = c.first AND c.before < :bytes)
ORDER BY c.place, c.position

-- fetch_named_entities --
-- Fetch the current entities that records name, as far as the caller may read them.
SELECT e.source, array_agg(DISTINCT r.id ORDER BY r.id) AS entities
FROM relation e
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = ANY(CAST(:predicates AS text[]))
JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.type = 3 AND r.state <= 2
WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
GROUP BY e.source

-- mark_learned --
-- Mark episodes as read by some stages of a run, in id order, where they are still as they were read.
WITH held AS (
  SELECT e.id FROM episode e
  JOIN unnest(CAST(:ids AS uuid[]), CAST(:outcomes AS smallint[])) AS a(id, outcome) ON e.id = a.id
  WHERE e.tenant = :tenant AND e.closed_at IS NOT NULL AND e.learned_at IS NULL
    AND e.outcome IS NOT DISTINCT FROM a.outcome AND NOT e.learned_stages @> CAST(:stages AS text[])
  ORDER BY e.id FOR NO KEY UPDATE OF e
)
UPDATE episode e SET
  learned_by = :run,
  learned_events = {members_now},
  learn_after = NULL,
  learned_stages = ARRAY(SELECT DISTINCT s FROM unnest(e.learned_stages || CAST(:stages AS text[])) AS s ORDER BY s),
  learned_at = CASE WHEN e.learned_stages || CAST(:stages AS text[]) @> CAST(:all_stages AS text[]) THEN :at END
FROM held h WHERE e.tenant = :tenant AND e.id = h.id
RETURNING e.id, e.learned_at IS NOT NULL AS is_done

-- members_now --
-- The number of members that the episode `e` has.
(SELECT count(*) FROM episode_event v WHERE v.tenant = e.tenant AND v.episode = e.id)

-- relearn_run --
-- Let the stages of a run read its episodes again, in groups in which it was undone, where nothing of them was deleted.
UPDATE episode e SET learned_at = NULL, learned_by = NULL,
  learned_stages = ARRAY(SELECT s FROM unnest(e.learned_stages) AS s WHERE NOT l.stages ? s ORDER BY s)
FROM learning_report l
JOIN unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[])) AS a(scope, sensitivity)
  ON l.scope = a.scope AND l.sensitivity = a.sensitivity
WHERE l.tenant = :tenant AND l.run = :run AND l.undone_at IS NOT NULL AND e.tenant = l.tenant AND e.learned_by = l.run
  AND e.scope = l.scope AND e.sensitivity = l.sensitivity AND e.learned_events = {members_now}

-- postpone_learning --
-- Let an episode that failed be due again later.
UPDATE episode SET learn_after = :until WHERE tenant = :tenant AND id = :id

-- clear_learned_set_aside --
-- Delete the entries of episodes that a job had set aside and that wait no more.
DELETE FROM job_set_aside j USING episode e
WHERE j.job = :job AND e.tenant = j.tenant AND e.id = j.id AND e.learn_after IS NULL

-- count_due_episodes --
-- Count the due episodes, and the closed ones that wait for an outcome, up to a bound.
SELECT
  (SELECT count(*) FROM (SELECT FROM episode e WHERE {due_for_learning} LIMIT :most) d) AS due,
  (SELECT count(*) FROM (
    SELECT FROM episode e WHERE e.closed_at IS NOT NULL AND e.learned_at IS NULL AND e.outcome IS NULL
      AND e.closed_at > :without_outcome LIMIT :most) w) AS waiting
