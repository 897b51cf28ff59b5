-- count_retrieval_use --
-- Add a reported retrieval to the counts of its tenant.
INSERT INTO retrieval_use AS u (tenant, successes, failures, partials, returned, used)
VALUES (CAST(:tenant AS bigint), (CAST(:outcome AS integer) = 1)::integer, (CAST(:outcome AS integer) = 2)::integer,
  (CAST(:outcome AS integer) = 3)::integer, CAST(:returned AS bigint), CAST(:used AS bigint))
ON CONFLICT (tenant) DO UPDATE SET successes = u.successes + excluded.successes,
  failures = u.failures + excluded.failures, partials = u.partials + excluded.partials,
  returned = u.returned + excluded.returned, used = u.used + excluded.used

-- fetch_retrieval --
-- Fetch a retrieval of one actor, and what was reported of it.
SELECT id, at, is_playbook, nodes, composed_id, composed, outcome, reported_at, report_hash, credited, penalized, sequence::text AS sequence
FROM retrieval WHERE tenant = :tenant AND id = :id AND actor = :actor

-- find_composed_plan --
-- Find the plan that was composed for one actor under an id.
SELECT composed FROM retrieval WHERE tenant = :tenant AND composed_id = :id AND actor = :actor LIMIT 1

-- fetch_retrieval_use --
-- Fetch the counts of one tenant.
SELECT successes, failures, partials, returned, used FROM retrieval_use WHERE tenant = :tenant

-- lock_retrieval --
-- Lock a retrieval of one actor, waiting for another report on it.
SELECT FROM retrieval WHERE tenant = :tenant AND id = :id AND actor = :actor FOR UPDATE

-- store_report --
-- Store what was reported of a locked retrieval.
UPDATE retrieval SET outcome = :outcome, reported_at = :at, report_hash = :hash, credited = CAST(:credited AS uuid[]),
  penalized = CAST(:penalized AS uuid[]), sequence = pg_current_xact_id()
WHERE tenant = :tenant AND id = :id

-- sum_retrieval_use --
-- Add up the counts of all tenants.
SELECT coalesce(sum(successes), 0)::bigint AS successes, coalesce(sum(failures), 0)::bigint AS failures,
  coalesce(sum(partials), 0)::bigint AS partials, coalesce(sum(returned), 0)::bigint AS returned,
  coalesce(sum(used), 0)::bigint AS used
FROM retrieval_use
