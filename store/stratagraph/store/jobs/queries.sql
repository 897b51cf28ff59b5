-- claim_job --
-- Take the lease of a job that is due, or of any job when `forced`; no row if it is not due or another server has it.
-- A lease or a next run further ahead than any server sets it is left by a clock that jumped, and does not count. A
-- next run at infinity pauses the job.
UPDATE job SET owner = :owner, lease_until = clock_timestamp() + make_interval(secs => :lease_s),
  started_at = clock_timestamp()
WHERE name = :name
  AND (lease_until < clock_timestamp() OR lease_until > clock_timestamp() + make_interval(secs => 2 * :lease_s))
  AND (:forced OR next_run_at <= clock_timestamp()
    OR (isfinite(next_run_at) AND next_run_at > clock_timestamp() + make_interval(secs => 2 * :longest_s)))
RETURNING failures

-- count_queues --
-- Count what waits for the background jobs, each up to 10,000.
-- A failed capture without a next try was given up and waits for a person.
SELECT
  (SELECT count(*) FROM (SELECT FROM candidate WHERE state = 'failed' AND next_try_at IS NOT NULL LIMIT 10000) c)
    AS failed_captures,
  (SELECT count(*) FROM (SELECT FROM candidate WHERE state = 'failed' AND next_try_at IS NULL LIMIT 10000) c)
    AS given_up_captures,
  (SELECT count(*) FROM (SELECT FROM reevaluation LIMIT 10000) r) AS reevaluations,
  (SELECT count(*) FROM (SELECT FROM extraction WHERE state <> 2 LIMIT 10000) x) AS texts_to_read,
  (SELECT count(*) FROM (SELECT FROM episode WHERE closed_at IS NULL AND closes_at <= clock_timestamp() LIMIT 10000) e)
    AS due_episodes,
  (SELECT count(*) FROM (SELECT FROM link_request LIMIT 10000) l) AS entities_to_link,
  (SELECT count(*) FROM (SELECT FROM episode WHERE closed_at IS NOT NULL AND learned_at IS NULL LIMIT 10000) u)
    AS unlearned_episodes,
  (SELECT count(*) FROM (SELECT FROM duplicate_due LIMIT 10000) d) AS records_to_compare

-- count_tenant_dead_letters --
-- Count the dead letters of one tenant.
SELECT count(*) AS number FROM sync_dead_letter WHERE tenant = :tenant

-- count_tenant_queues --
-- Count what waits for the background jobs of one tenant, each up to 10,000.
SELECT
  (SELECT count(*) FROM (
    SELECT FROM candidate WHERE tenant = :tenant AND state = 'failed' AND next_try_at IS NOT NULL LIMIT 10000) c
  ) AS failed_captures,
  (SELECT count(*) FROM (
    SELECT FROM candidate WHERE tenant = :tenant AND state = 'failed' AND next_try_at IS NULL LIMIT 10000) c
  ) AS given_up_captures,
  (SELECT count(*) FROM (SELECT FROM reevaluation WHERE tenant = :tenant LIMIT 10000) r) AS reevaluations

-- count_tenant_set_aside --
-- Count the rows of one tenant that jobs have set aside.
SELECT count(*) AS number FROM job_set_aside WHERE tenant = :tenant

-- delete_set_aside --
-- Delete the entries of rows that a job has processed after all.
DELETE FROM job_set_aside s
USING unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
WHERE s.job = :job AND s.tenant = a.tenant AND s.id = a.id

-- fail_job --
-- Record a failed run, release the lease and schedule the next attempt.
UPDATE job SET lease_until = '-infinity', finished_at = clock_timestamp(),
  took_s = extract(epoch FROM clock_timestamp() - started_at),
  next_run_at = clock_timestamp() + make_interval(secs => :pause_s),
  error = :error, failures = failures + 1, runs = runs + 1, failed_runs = failed_runs + 1
WHERE name = :name AND owner = :owner

-- fetch_due_set_aside --
-- Fetch rows that a job has set aside and should try again, the longest due first.
SELECT tenant, id FROM job_set_aside WHERE job = :job AND next_try_at <= :now ORDER BY next_try_at LIMIT :limit

-- finish_job --
-- Record a successful run, release the lease and schedule the next one.
UPDATE job SET lease_until = '-infinity', finished_at = clock_timestamp(),
  took_s = extract(epoch FROM clock_timestamp() - started_at),
  next_run_at = clock_timestamp() + make_interval(secs => :pause_s),
  result = CAST(:result AS jsonb), error = NULL, failures = 0, runs = runs + 1,
  totals = totals || (
    SELECT coalesce(jsonb_object_agg(r.key, r.value::bigint + coalesce((totals ->> r.key)::bigint, 0)), '{}')
    FROM jsonb_each_text(CAST(:result AS jsonb)) AS r(key, value))
WHERE name = :name AND owner = :owner

-- forget_set_aside --
-- Delete the entries of rows that were deleted, whichever job set them aside.
DELETE FROM job_set_aside WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- list_jobs --
-- List all jobs with their last and next runs; a paused job has no next run.
SELECT j.name, j.owner, j.lease_until >= clock_timestamp() AS is_running,
  CASE WHEN isfinite(j.next_run_at) THEN j.next_run_at WHEN j.next_run_at < clock_timestamp() THEN clock_timestamp()
  END AS next_run_at,
  j.started_at, j.finished_at, j.took_s, j.result, j.error, j.failures, j.runs, j.failed_runs, j.totals,
  CASE WHEN j.next_run_at = 'infinity' THEN 0 ELSE extract(epoch FROM clock_timestamp()
    - greatest(j.next_run_at, j.lease_until, clock_timestamp() - interval '100 years')) END::float8 AS overdue_s,
  (SELECT count(*) FROM job_set_aside s WHERE s.job = j.name) AS set_aside
FROM job j ORDER BY j.name

-- list_set_aside --
-- List rows that jobs have set aside, the oldest first.
SELECT job, tenant, id, stage, error, attempts, since, next_try_at FROM job_set_aside
WHERE CAST(:job AS text) IS NULL OR job = :job
ORDER BY since, job, tenant, id LIMIT :limit

-- put_off_jobs --
-- Let the given jobs be due after their pause at the earliest; a paused job stays paused.
UPDATE job j SET next_run_at = greatest(j.next_run_at, clock_timestamp() + make_interval(secs => a.pause_s))
FROM unnest(CAST(:names AS text[]), CAST(:pauses AS float8[])) AS a(name, pause_s)
WHERE j.name = a.name

-- read_job_due --
-- Return the seconds until a job may be claimed, at most :most: 0 or less if it may be now. No row for an unknown job.
SELECT extract(epoch FROM least(greatest(next_run_at, lease_until, clock_timestamp() - interval '1 day'),
  clock_timestamp() + make_interval(secs => :most)) - clock_timestamp())::float8 AS due_in_s
FROM job WHERE name = :name

-- register_jobs --
-- Insert a row for each job that has none, due after its pause; known jobs keep their schedule.
INSERT INTO job (name, next_run_at)
SELECT a.name, clock_timestamp() + make_interval(secs => a.pause_s)
FROM unnest(CAST(:names AS text[]), CAST(:pauses AS float8[])) AS a(name, pause_s)
ORDER BY a.name
ON CONFLICT (name) DO NOTHING

-- release_job --
-- Release the lease of a job whose run was stopped; the job stays due.
UPDATE job SET lease_until = '-infinity' WHERE name = :name AND owner = :owner

-- renew_job --
-- Extend the lease of a running job; no row if another server has taken it.
UPDATE job SET lease_until = clock_timestamp() + make_interval(secs => :lease_s)
WHERE name = :name AND owner = :owner AND lease_until > '-infinity'
RETURNING name

-- set_row_aside --
-- Record that a job could not process a row; the pause before the next attempt doubles up to a day.
INSERT INTO job_set_aside AS s (job, tenant, id, error, stage, attempts, since, next_try_at)
VALUES (:job, :tenant, :id, :error, :stage, 1, :at, CAST(:at AS timestamptz) + make_interval(secs => :pause_s))
ON CONFLICT (job, tenant, id) DO UPDATE
SET error = excluded.error, stage = excluded.stage, attempts = s.attempts + 1,
  next_try_at = excluded.since + least(make_interval(days => 1),
    make_interval(secs => :pause_s * power(2, least(s.attempts, 20))))
RETURNING next_try_at
