-- assemble_episodes --
-- Fetch the timelines and tool graphs of the first members of each episode that the caller may read in full.
SELECT v.episode, v.record, r.payload -> 'timeline' AS timeline, r.payload -> 'tool_graph' AS tool_graph, r.sealed
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
  SELECT episode, record, position FROM episode_event
  WHERE tenant = :tenant AND episode = asked.id ORDER BY position LIMIT :most
) v
JOIN record r ON r.tenant = :tenant AND r.id = v.record
WHERE (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
ORDER BY v.episode, v.position

-- close_episodes --
-- Close episodes and return what describes them.
-- An episode that is closed already keeps its closing time; it is closed again when an outcome arrives after a silence.
UPDATE episode e
SET closed_at = coalesce(e.closed_at, :at)
FROM record r
WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[])) AND r.tenant = e.tenant AND r.id = e.id
RETURNING e.id, e.events, e.outcome, r.name, r.text, r.payload, r.sealed

-- episode_members --
-- Fetch the first members of each episode, in order of arrival.
SELECT v.episode, r.id, r.name, r.text, r.occurred_at, r.payload #>> '{tool_graph,0,tool}' AS tool, r.sealed
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
  SELECT episode, record, position FROM episode_event
  WHERE tenant = :tenant AND episode = asked.id ORDER BY position LIMIT :most
) v
JOIN record r ON r.tenant = :tenant AND r.id = v.record
ORDER BY v.episode, v.position

-- find_calls --
-- Fetch the records of earlier tool calls of some episodes, in order of arrival.
-- Prepared: keys only, found by indexes.
SELECT episode, call_key, record FROM episode_event
WHERE tenant = :tenant AND episode = ANY(CAST(:episodes AS uuid[])) AND call_key = ANY(CAST(:keys AS bytea[]))
ORDER BY position

-- extend_episodes --
-- Count the appended events and set the time at which the episode closes by silence.
UPDATE episode e
SET events = e.events + a.added, last_record = a.last, closes_at = CAST(:closes_at AS timestamptz)
FROM unnest(CAST(:ids AS uuid[]), CAST(:added AS integer[]), CAST(:last AS uuid[])) AS a(id, added, last)
WHERE e.tenant = :tenant AND e.id = a.id

-- lock_open_episodes --
-- Lock the open episodes of some threads, in the order of all writers.
-- Prepared: keys only, found by indexes.
SELECT e.id, e.scope, e.sensitivity, e.thread_key, e.closes_at, e.events, e.last_record
FROM unnest((SELECT CAST(:scopes AS integer[])), (SELECT CAST(:sensitivities AS smallint[])), (SELECT CAST(:keys AS bytea[])))
  AS asked(scope, sensitivity, key)
JOIN episode e ON e.tenant = :tenant AND e.scope = asked.scope AND e.sensitivity = asked.sensitivity
  AND e.thread_key = asked.key AND e.closed_at IS NULL
ORDER BY e.scope, e.sensitivity, e.thread_key FOR UPDATE OF e

-- previous_episodes --
-- Fetch the latest closed episode of each thread.
-- Prepared: keys only, found by indexes.
SELECT DISTINCT ON (scope, sensitivity, thread_key) scope, sensitivity, thread_key, id
FROM episode
WHERE tenant = :tenant AND thread_key = ANY(CAST((SELECT CAST(:keys AS bytea[])) AS bytea[])) AND closed_at IS NOT NULL
ORDER BY scope, sensitivity, thread_key, opened_at DESC, id DESC

-- record_outcome --
-- Set the outcome of an episode. Stages of learning that have read it without one are to read it again, if it still has
-- all that they have read.
UPDATE episode e SET outcome = :outcome,
  learned_at = CASE WHEN n.is_stale THEN NULL ELSE e.learned_at END,
  learned_stages = CASE WHEN n.is_stale
    THEN ARRAY(SELECT s FROM unnest(e.learned_stages) AS s WHERE s <> ALL (CAST(:stages AS text[])) ORDER BY s)
    ELSE e.learned_stages END
FROM (
  SELECT o.id, o.learned_stages && CAST(:stages AS text[]) AND o.learned_events = (
    SELECT count(*) FROM episode_event v WHERE v.tenant = o.tenant AND v.episode = o.id) AS is_stale
  FROM episode o WHERE o.tenant = :tenant AND o.id = :id) n
WHERE e.tenant = :tenant AND e.id = n.id

-- fetch_threads_of --
-- Fetch the keys of the threads of events and episodes; row-level security leaves out those of hidden episodes.
-- Prepared: keys only, found by indexes.
SELECT e.id, e.thread_key FROM episode e
WHERE e.tenant = :tenant AND e.id = ANY(CAST((SELECT CAST(:ids AS uuid[])) AS uuid[])) AND e.thread_key IS NOT NULL
UNION ALL
SELECT v.record, e.thread_key FROM episode_event v JOIN episode e ON e.tenant = v.tenant AND e.id = v.episode
WHERE v.tenant = :tenant AND v.record = ANY(CAST((SELECT CAST(:ids AS uuid[])) AS uuid[])) AND e.thread_key IS NOT NULL
