-- store_examples --
-- Store what episodes show of the words of tasks and the tools that they need; a run has one example of an episode.
INSERT INTO learned_example (tenant, episode, run, scope, sensitivity, closed_at, outcome, skill, plan, tools, terms, counts)
SELECT :tenant, a.episode, :run, :scope, :sensitivity, a.closed_at, a.outcome, a.skill, a.plan,
  a.tools, a.terms, a.counts
FROM unnest(CAST(:episodes AS uuid[]), CAST(:closed AS timestamptz[]), CAST(:outcomes AS smallint[]),
  CAST(:skills AS bytea[]), CAST(:plans AS bytea[]), CAST(:tools AS bytea[]), CAST(:terms AS bytea[]),
  CAST(:counts AS bytea[])) AS a(episode, closed_at, outcome, skill, plan, tools, terms, counts)
ORDER BY a.episode
ON CONFLICT (tenant, episode, run) DO UPDATE SET closed_at = excluded.closed_at, outcome = excluded.outcome,
  skill = excluded.skill, plan = excluded.plan, tools = excluded.tools, terms = excluded.terms, counts = excluded.counts

-- fetch_examples --
-- Fetch the newest examples of a group, one of each episode, without those of runs that were undone.
SELECT n.episode, n.closed_at, n.outcome, n.skill, n.plan, n.tools, n.terms, n.counts FROM (
  SELECT x.*, row_number() OVER (PARTITION BY x.episode ORDER BY x.run DESC) AS place
  FROM (
    SELECT * FROM learned_example x
    WHERE x.tenant = :tenant AND x.scope = :scope AND x.sensitivity = :sensitivity
      AND NOT EXISTS (
        SELECT FROM learning_report l WHERE l.tenant = x.tenant AND l.run = x.run AND l.scope = x.scope
          AND l.sensitivity = x.sensitivity AND l.undone_at IS NOT NULL)
    ORDER BY x.closed_at DESC, x.episode DESC, x.run DESC LIMIT :most
  ) x
) n
WHERE n.place = 1
ORDER BY n.closed_at, n.episode

-- trim_examples --
-- Delete all but the newest examples of a group.
DELETE FROM learned_example x
WHERE x.tenant = :tenant AND x.scope = :scope AND x.sensitivity = :sensitivity
  AND (x.closed_at, x.episode, x.run) <= (
    SELECT o.closed_at, o.episode, o.run FROM learned_example o
    WHERE o.tenant = :tenant AND o.scope = :scope AND o.sensitivity = :sensitivity
    ORDER BY o.closed_at DESC, o.episode DESC, o.run DESC OFFSET :kept LIMIT 1)

-- delete_examples --
-- Delete the examples of episodes; return the groups that had some.
WITH deleted AS (
  DELETE FROM learned_example WHERE tenant = :tenant AND episode = ANY(CAST(:episodes AS uuid[]))
  RETURNING scope, sensitivity
)
SELECT DISTINCT scope, sensitivity FROM deleted ORDER BY scope, sensitivity

-- lock_tool_model --
-- Lock the model of a group, or its place, so that examples and model change together.
INSERT INTO learned_model AS m (tenant, scope, sensitivity, version, updated_at, model)
VALUES (:tenant, :scope, :sensitivity, :version, :at, '')
ON CONFLICT (tenant, scope, sensitivity) DO UPDATE SET updated_at = m.updated_at

-- store_tool_model --
-- Replace the locked model of a group.
UPDATE learned_model SET version = :version, updated_at = :at, model = :model
WHERE tenant = :tenant AND scope = :scope AND sensitivity = :sensitivity

-- delete_tool_model --
-- Delete the locked model of a group that has no examples.
DELETE FROM learned_model WHERE tenant = :tenant AND scope = :scope AND sensitivity = :sensitivity

-- list_tool_models --
-- List the newest models that a caller may read, by their groups.
SELECT scope, sensitivity, version FROM learned_model
WHERE tenant = :tenant AND (:all_scopes OR scope = ANY(CAST(:scopes AS integer[]))) AND sensitivity <= :ceiling
ORDER BY updated_at DESC, scope, sensitivity LIMIT :most

-- fetch_tool_models --
-- Fetch models of groups.
SELECT m.scope, m.sensitivity, m.version, m.model
FROM unnest(CAST(:of_scopes AS integer[]), CAST(:levels AS smallint[])) AS a(scope, sensitivity)
JOIN learned_model m ON m.tenant = :tenant AND m.scope = a.scope AND m.sensitivity = a.sensitivity

-- note_refused_procedures --
-- Note the names of the skills and plans among the given records, which a caller has retracted.
INSERT INTO refused_procedure (tenant, scope, sensitivity, key)
SELECT DISTINCT r.tenant, r.scope, r.sensitivity, r.handle_key FROM record r
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[])) AND r.type IN (5, 6) AND r.handle_key IS NOT NULL
ORDER BY r.tenant, r.scope, r.sensitivity, r.handle_key
ON CONFLICT DO NOTHING

-- find_refused_procedures --
-- Find which of the given names of skills and plans were refused in a group.
SELECT key FROM refused_procedure
WHERE tenant = :tenant AND scope = :scope AND sensitivity = :sensitivity AND key = ANY(CAST(:keys AS bytea[]))

-- find_refused_by_reader --
-- Find in which groups that a caller may read one of the given names was refused and is not that of a record again.
SELECT DISTINCT f.scope, f.sensitivity FROM refused_procedure f
WHERE f.tenant = :tenant AND f.key = ANY(CAST(:keys AS bytea[]))
  AND (:all_scopes OR f.scope = ANY(CAST(:scopes AS integer[]))) AND f.sensitivity <= :ceiling
  AND NOT EXISTS (
    SELECT FROM record r WHERE r.tenant = f.tenant AND r.handle_key = f.key AND r.scope = f.scope
      AND r.sensitivity = f.sensitivity AND r.state <= 2)

-- delete_refused_procedures --
-- Delete the notes on retracted skills and plans that are erased.
DELETE FROM refused_procedure f USING record r
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[])) AND r.type IN (5, 6) AND f.tenant = r.tenant
  AND f.scope = r.scope AND f.sensitivity = r.sensitivity AND f.key = r.handle_key
