-- fetch_unfinished_run --
-- Fetch the run of a kind that is not finished.
SELECT id, began_at, stages, is_soon FROM learning_run WHERE is_soon = :is_soon

-- begin_run --
-- Store a run, unless there is one of its kind that is not finished.
INSERT INTO learning_run (id, began_at, stages, is_soon) VALUES (:id, :at, CAST(:stages AS text[]), :is_soon)
ON CONFLICT (is_soon) DO NOTHING
RETURNING id, began_at, stages, is_soon

-- end_soon_run --
-- Forget the run of texts that are read soon, if it is this one.
DELETE FROM learning_run WHERE id = :id AND is_soon AND (CAST(:of_tenant AS bigint) IS NULL
  OR EXISTS (SELECT FROM learning_report l WHERE l.tenant = :of_tenant AND l.run = :id))

-- finish_soon_reports --
-- Mark reports as finished that belong to no open run of texts that are read soon.
UPDATE learning_report l SET finished_at = :at
WHERE l.finished_at IS NULL AND l.is_soon AND NOT EXISTS (SELECT FROM learning_run r WHERE r.id = l.run)
RETURNING l.tenant, l.run, l.scope, l.sensitivity

-- lock_report_end --
-- Lock the report of a run on a group, and fetch whether it is finished.
SELECT finished_at IS NOT NULL AS is_finished FROM learning_report
WHERE tenant = :tenant AND run = :run AND scope = :scope AND sensitivity = :sensitivity FOR UPDATE

-- finish_run --
-- Forget a run that is finished; its reports stay.
DELETE FROM learning_run WHERE id = :id

-- finish_reports --
-- Mark the reports of a run as finished, with :of_tenant only those of that tenant.
UPDATE learning_report SET finished_at = :at
WHERE run = :id AND finished_at IS NULL AND (CAST(:of_tenant AS bigint) IS NULL OR tenant = :of_tenant)
RETURNING tenant, run, scope, sensitivity

-- lock_stage_reports --
-- Lock the report of a run on a group.
SELECT stages FROM learning_report
WHERE tenant = :tenant AND run = :run AND scope = :scope AND sensitivity = :sensitivity FOR UPDATE

-- add_to_report --
-- Add a batch to the report of a run on a group, and return the number of its batches.
INSERT INTO learning_report AS l
  (tenant, run, scope, sensitivity, began_at, updated_at, batches, episodes, set_aside, stages, is_soon)
VALUES (:tenant, :run, :scope, :sensitivity, :began_at, :at, 1, :episodes, :set_aside, CAST(:stages AS jsonb), :is_soon)
ON CONFLICT (tenant, run, scope, sensitivity) DO UPDATE SET
  updated_at = excluded.updated_at, batches = l.batches + 1, episodes = l.episodes + excluded.episodes,
  set_aside = l.set_aside + excluded.set_aside, stages = excluded.stages
RETURNING batches

-- list_reports --
-- Fetch the reports of the newest runs that a caller may read.
WITH runs AS (
  SELECT DISTINCT run FROM learning_report
  WHERE tenant = :tenant AND (CAST(:before AS uuid) IS NULL OR run < CAST(:before AS uuid))
    AND (:all_scopes OR scope = ANY(CAST(:scopes AS integer[]))) AND sensitivity <= :ceiling
  ORDER BY run DESC LIMIT :first
)
SELECT l.* FROM runs JOIN learning_report l ON l.tenant = :tenant AND l.run = runs.run
WHERE (:all_scopes OR l.scope = ANY(CAST(:scopes AS integer[]))) AND l.sensitivity <= :ceiling
ORDER BY l.run DESC, l.scope, l.sensitivity

-- lock_reports --
-- Lock the reports of a run that a caller may read.
SELECT l.* FROM learning_report l
WHERE l.tenant = :tenant AND l.run = :run
  AND (:all_scopes OR l.scope = ANY(CAST(:scopes AS integer[]))) AND l.sensitivity <= :ceiling
ORDER BY l.scope, l.sensitivity FOR UPDATE

-- mark_undone --
-- Mark a run as undone in some groups.
UPDATE learning_report l SET undone_at = :at, undone_by = :actor
FROM unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[])) AS a(scope, sensitivity)
WHERE l.tenant = :tenant AND l.run = :run AND l.scope = a.scope AND l.sensitivity = a.sensitivity

-- sum_costs --
-- Add up what a stage has cost in a run, by tenant and unit.
SELECT l.tenant, c.key AS unit, sum(c.value::text::float8) AS cost
FROM learning_report l CROSS JOIN LATERAL jsonb_each(l.stages -> :stage -> 'cost') AS c
WHERE l.run = :run AND l.stages ? :stage
GROUP BY l.tenant, c.key

-- sum_soon_costs --
-- Add up what a stage has cost in runs since an instant that read texts soon, by tenant and unit.
SELECT l.tenant, c.key AS unit, sum(c.value::text::float8) AS cost
FROM learning_report l CROSS JOIN LATERAL jsonb_each(l.stages -> :stage -> 'cost') AS c
WHERE l.is_soon AND l.is_logged AND l.began_at >= :since AND l.stages ? :stage
GROUP BY l.tenant, c.key

-- trim_reports --
-- Delete reports of runs that began before an instant and whose changes are not logged any more.
-- Those of runs that were undone stay, because they tell that what the runs have shown of tools does not count.
DELETE FROM learning_report WHERE (tenant, run, scope, sensitivity) IN (
  SELECT tenant, run, scope, sensitivity FROM learning_report
  WHERE NOT is_logged AND undone_at IS NULL AND began_at < :before ORDER BY began_at LIMIT :limit)
