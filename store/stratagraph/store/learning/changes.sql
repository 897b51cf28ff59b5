-- log_changed_records --
-- Log the records that a batch changed; of one that the run had changed before, keep what was before the run.
INSERT INTO learning_change AS l (tenant, run, id, scope, sensitivity, before, after, s, t0, last_reinforced_at, t0_after,
  is_merged, is_mixed, is_entity)
SELECT :tenant, :run, a.id, :scope, :sensitivity, a.before, a.after, a.s, a.t0, a.reinforced,
  CASE WHEN a.s IS NOT NULL THEN n.t0 END, a.merged, false,
  EXISTS (SELECT FROM record r WHERE r.tenant = :tenant AND r.id = a.id AND r.type = 3)
FROM unnest(CAST(:ids AS uuid[]), CAST(:befores AS bigint[]), CAST(:afters AS bigint[]), CAST(:saliences AS float8[]),
            CAST(:instants AS timestamptz[]), CAST(:reinforced AS timestamptz[]), CAST(:merged AS boolean[]))
  AS a(id, before, after, s, t0, reinforced, merged)
JOIN salience n ON n.tenant = :tenant AND n.id = a.id
ON CONFLICT (tenant, run, id) DO UPDATE SET
  before = CASE WHEN l.after IS NULL THEN excluded.before ELSE l.before END,
  after = coalesce(excluded.after, l.after),
  s = CASE WHEN l.after IS NOT NULL AND l.before IS NULL THEN NULL ELSE coalesce(l.s, excluded.s) END,
  t0 = CASE WHEN l.after IS NOT NULL AND l.before IS NULL THEN NULL ELSE coalesce(l.t0, excluded.t0) END,
  last_reinforced_at = coalesce(l.last_reinforced_at, excluded.last_reinforced_at),
  t0_after = CASE
    WHEN l.after IS NOT NULL AND l.before IS NULL THEN NULL
    WHEN l.t0_after IS NOT NULL AND excluded.t0 <> l.t0_after THEN '-infinity'
    ELSE coalesce(excluded.t0_after, l.t0_after) END,
  is_merged = l.is_merged OR excluded.is_merged,
  is_mixed = l.is_mixed OR coalesce(excluded.before <> l.after, false)

-- log_changed_relations --
-- Log the relations that a batch inserted or ended between records that the run has not created, or from such a record
-- to an entity that it has created. The others end with the records that it has created.
INSERT INTO learning_relation (tenant, run, relation, scope, sensitivity, is_new)
SELECT :tenant, :run, e.id, :scope, :sensitivity, a.is_new
FROM unnest(CAST(:ids AS uuid[]), CAST(:new AS boolean[])) AS a(id, is_new)
JOIN relation e ON e.tenant = :tenant AND e.id = a.id
WHERE NOT EXISTS (
  SELECT FROM learning_change l
  WHERE l.tenant = :tenant AND l.run = :run AND l.id IN (e.source, e.target) AND l.before IS NULL AND l.after IS NOT NULL
    AND NOT (l.is_entity AND l.id = e.target)
)
ON CONFLICT DO NOTHING

-- next_changed_records --
-- Fetch records that a run changed in some groups, after its merges: created ones, entities last among them, others.
{changed_in_groups}
WHERE l.tenant = :tenant AND l.run = :run AND l.kept IS NULL
ORDER BY l.place, l.id DESC LIMIT :limit

-- next_merged_record --
-- Fetch the entity of some groups that a run merged last: `unmerge` refuses the others before it.
{changed_in_groups}
LEFT JOIN entity_merge m ON m.tenant = l.tenant AND m.entity = l.id
WHERE l.tenant = :tenant AND l.run = :run AND l.place = 1 AND l.kept IS NULL
ORDER BY m.merged_at DESC NULLS LAST, l.id DESC LIMIT 1

-- changed_in_groups --
-- Fragment: records that a run changed in some groups, as they were before it and as they are now.
SELECT l.id, r.type, r.state, l.before, l.after, l.s, l.t0 AS t0_before, l.last_reinforced_at, l.t0_after, l.is_merged,
  l.is_mixed, r.row_version, s.t0
FROM learning_change l
JOIN unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[])) AS g(scope, sensitivity)
  ON g.scope = l.scope AND g.sensitivity = l.sensitivity
JOIN record r ON r.tenant = l.tenant AND r.id = l.id
JOIN salience s ON s.tenant = l.tenant AND s.id = l.id

-- next_changed_relations --
-- Fetch relations that a run changed in some groups.
SELECT e.id, e.source, e.target, p.name AS predicate, e.weight, l.is_new, e.ended_at IS NULL AS is_live
FROM learning_relation l
JOIN unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[])) AS g(scope, sensitivity)
  ON g.scope = l.scope AND g.sensitivity = l.sensitivity
JOIN relation e ON e.tenant = l.tenant AND e.id = l.relation
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate
WHERE l.tenant = :tenant AND l.run = :run
ORDER BY l.relation LIMIT :limit

-- fetch_former_versions --
-- Fetch records as they were at some row versions.
SELECT h.id, h.state, h.confidence, h.name, h.text, h.payload, h.provenance, h.interpretation, h.learned_state, h.sealed,
  h.impacts::text AS impacts, h.occurred_at
FROM unnest(CAST(:ids AS uuid[]), CAST(:versions AS bigint[])) AS asked(id, row_version)
JOIN record_history h ON h.tenant = :tenant AND h.id = asked.id AND h.row_version = asked.row_version

-- fetch_used_entities --
-- Fetch which of the given entities are related to a current record that the run has not created.
SELECT asked.id FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
WHERE EXISTS (
  SELECT FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.source AND r.state <= 2
  WHERE e.tenant = :tenant AND e.target = asked.id AND e.ended_at IS NULL AND NOT e.source_past
    AND NOT EXISTS (SELECT FROM learning_change l WHERE l.tenant = :tenant AND l.run = :run AND l.id = r.id
      AND l.before IS NULL AND l.after IS NOT NULL AND l.kept IS NULL)
) OR EXISTS (
  SELECT FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.state <= 2
  WHERE e.tenant = :tenant AND e.source = asked.id AND e.ended_at IS NULL AND NOT e.target_past
    AND NOT EXISTS (SELECT FROM learning_change l WHERE l.tenant = :tenant AND l.run = :run AND l.id = r.id
      AND l.before IS NULL AND l.after IS NOT NULL AND l.kept IS NULL)
)

-- keep_changed_records --
-- Note of logged records why they are left as they are.
UPDATE learning_change l SET kept = a.kept
FROM unnest(CAST(:ids AS uuid[]), CAST(:reasons AS smallint[])) AS a(id, kept)
WHERE l.tenant = :tenant AND l.run = :run AND l.id = a.id

-- list_kept_records --
-- Fetch the records that undoing a run in some groups has left as they are, and that the caller may read in full now.
SELECT l.id, l.kept, count(*) OVER () AS total
FROM learning_change l
JOIN unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[])) AS g(scope, sensitivity)
  ON g.scope = l.scope AND g.sensitivity = l.sensitivity
JOIN record r ON r.tenant = l.tenant AND r.id = l.id
  AND (:all_scopes OR r.scope = ANY(CAST(:allowed AS integer[]))) AND r.sensitivity <= :ceiling
WHERE l.tenant = :tenant AND l.run = :run AND l.kept IS NOT NULL
ORDER BY l.id LIMIT :limit

-- follow_change --
-- Let a logged record that was as the run left it be the version after it.
UPDATE learning_change SET after = :after WHERE tenant = :tenant AND run = :run AND id = :id AND after = :after - 1

-- follow_salience --
-- Let logged records whose last event of salience was that of the run have the event after it.
UPDATE learning_change l SET t0_after = s.t0
FROM unnest(CAST(:ids AS uuid[]), CAST(:instants AS timestamptz[])) AS a(id, t0)
JOIN salience s ON s.tenant = :tenant AND s.id = a.id
WHERE l.tenant = :tenant AND l.run = :run AND l.id = a.id AND l.t0_after = a.t0

-- forget_changed_records --
-- Delete records from the log of a run.
DELETE FROM learning_change WHERE tenant = :tenant AND run = :run AND id = ANY(CAST(:ids AS uuid[]))

-- forget_changed_relations --
-- Delete relations from the log of a run.
DELETE FROM learning_relation WHERE tenant = :tenant AND run = :run AND relation = ANY(CAST(:ids AS uuid[]))

-- find_old_report --
-- Find a finished run that began before an instant and whose changes are still logged.
SELECT tenant, run FROM learning_report
WHERE is_logged AND began_at < :before AND finished_at IS NOT NULL ORDER BY began_at LIMIT 1

-- trim_changed_records --
-- Delete logged records of a run.
DELETE FROM learning_change WHERE tenant = :tenant AND run = :run AND id IN (
  SELECT id FROM learning_change WHERE tenant = :tenant AND run = :run LIMIT :limit)

-- trim_changed_relations --
-- Delete logged relations of a run.
DELETE FROM learning_relation WHERE tenant = :tenant AND run = :run AND relation IN (
  SELECT relation FROM learning_relation WHERE tenant = :tenant AND run = :run LIMIT :limit)

-- mark_trimmed --
-- Note that a run cannot be undone any more, before its log is deleted.
UPDATE learning_report SET is_trimmed = true WHERE tenant = :tenant AND run = :run AND NOT is_trimmed

-- mark_unlogged --
-- Note that the log of a run is deleted.
UPDATE learning_report SET is_logged = false WHERE tenant = :tenant AND run = :run
