-- claim_failed_captures --
-- Lock failed captures before they are stored; the ids returned are those that no other one has stored or dropped.
SELECT id FROM candidate
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND state = 'failed' ORDER BY id FOR UPDATE

-- drop_failed_captures --
-- Delete the failed captures of the given batches.
DELETE FROM candidate
WHERE state = 'failed' AND (tenant, batch) IN (
  SELECT * FROM unnest(CAST(:tenants AS bigint[]), CAST(:batches AS uuid[])))
RETURNING id

-- fail_captures_again --
-- Count one more failed attempt of a batch, unless another one has counted it.
UPDATE candidate SET attempts = attempts + 1, stage = :stage, error = :error, next_try_at = :next_try_at
WHERE tenant = :tenant AND batch = :batch AND state = 'failed' AND attempts = :attempts

-- failed_capture_columns --
-- The columns that describe a failed capture, without its content.
c.id, c.tenant, c.batch, c.position, c.actor, coalesce(c.caller_identity, c.actor) AS identity, c.source_kind, c.scope, c.sensitivity, c.stage, c.error, c.attempts,
c.next_try_at, c.created_at

-- fetch_batch_inputs --
-- Fetch the failed captures of a batch with their inputs, and with what their caller was allowed.
SELECT id, actor, input, sealed, attempts, created_at, caller_identity, caller_access, caller_scopes, caller_ceiling
FROM candidate
WHERE tenant = :tenant AND batch = :batch AND state = 'failed' ORDER BY position

-- find_batches --
-- Find the batches of failed captures, given by the ids of captures.
SELECT DISTINCT tenant, batch FROM candidate
WHERE state = 'failed' AND (CAST(:ids AS uuid[]) IS NULL OR id = ANY(CAST(:ids AS uuid[])))
ORDER BY tenant, batch LIMIT :limit

-- find_due_batches --
-- Find the batches of failed captures that are due to be retried, the longest due first.
SELECT tenant, batch FROM candidate
WHERE state = 'failed' AND next_try_at <= :now
GROUP BY tenant, batch ORDER BY min(next_try_at), batch LIMIT :limit

-- is_visible_failed_capture --
-- A failed capture of the caller itself, or one whose record the caller could read in full.
(coalesce(c.caller_identity, c.actor) = :identity
  OR ((:all_scopes OR c.scope = ANY(CAST(:scopes AS integer[]))) AND c.sensitivity <= :ceiling))

-- list_batch --
-- List the failed captures of the batch of one capture, and whether the caller may see each.
SELECT {failed_capture_columns}, coalesce({is_visible_failed_capture}, false) AS is_visible FROM candidate c
WHERE c.tenant = :tenant AND c.state = 'failed' AND c.batch = (
  SELECT o.batch FROM candidate o WHERE o.tenant = :tenant AND o.id = :id AND o.state = 'failed')
ORDER BY c.position

-- list_failed_captures --
-- List failed captures of all tenants, oldest first.
SELECT {failed_capture_columns} FROM candidate c
WHERE c.state = 'failed' ORDER BY c.created_at, c.batch, c.position LIMIT :limit

-- list_visible_failed_captures --
-- List failed captures that a caller may see, in the order of their ids.
-- Batch and position are those among the captures that the caller may see, so that they tell nothing of the others.
SELECT {failed_capture_columns}, b.id AS shown_batch, b.position AS shown_position
FROM candidate c
CROSS JOIN LATERAL (
  SELECT (array_agg(o.id ORDER BY o.position))[1] AS id,
    count(*) FILTER (WHERE o.position < c.position)::integer AS position
  FROM candidate o
  WHERE o.tenant = c.tenant AND o.batch = c.batch AND o.state = 'failed'
    AND (coalesce(o.caller_identity, o.actor) = :identity
      OR ((:all_scopes OR o.scope = ANY(CAST(:scopes AS integer[]))) AND o.sensitivity <= :ceiling))
) b
WHERE c.tenant = :tenant AND c.state = 'failed' AND {is_visible_failed_capture}
  AND (CAST(:after AS uuid) IS NULL OR c.id > :after)
ORDER BY c.id LIMIT :limit

-- split_batch --
-- Make two batches of one: the failed captures of :ids, and the others. Each is named after its first capture.
UPDATE candidate SET batch = CASE WHEN id = ANY(CAST(:ids AS uuid[])) THEN CAST(:first AS uuid) ELSE CAST(:rest AS uuid) END
WHERE tenant = :tenant AND batch = :batch AND state = 'failed'
