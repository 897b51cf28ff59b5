-- delete_read_spans --
-- Delete the spans of a trace that were received up to an instant, once all of them are read.
DELETE FROM received_span WHERE tenant = :tenant AND trace = :trace AND received_at <= :before
  AND NOT EXISTS (SELECT FROM received_span n WHERE n.tenant = :tenant AND n.trace = :trace AND n.is_new)

-- fetch_conversation_spans --
-- Fetch the oldest new spans of a trace and of all traces of its conversations, with the newest of those read before.
WITH together AS (
  SELECT s.id, s.size, s.is_new, s.received_at
  FROM received_span s
  WHERE s.tenant = :tenant AND (s.trace = :trace OR s.trace IN (
    SELECT o.trace FROM received_span o WHERE o.tenant = :tenant AND o.conversation IN (
      SELECT n.conversation FROM received_span n
      WHERE n.tenant = :tenant AND n.trace = :trace AND n.conversation IS NOT NULL)))
), chosen AS (
  SELECT q.id, count(*) FILTER (WHERE q.is_new) OVER () < (SELECT count(*) FROM together WHERE is_new) AS more_new
  FROM (
    SELECT t.*, sum(t.size) OVER by_age AS until_here, row_number() OVER by_age AS place
    FROM together t
    WINDOW by_age AS (PARTITION BY t.is_new ORDER BY CASE WHEN t.is_new THEN t.received_at END, t.received_at DESC, t.id)
  ) q
  WHERE q.place = 1 OR (q.until_here <= :bytes AND q.place <= :spans)
)
SELECT s.id, s.caller_name, s.caller_key, s.caller_scopes, s.caller_ceiling, s.caller_access, s.scope, s.content,
  s.sealed, s.received_at, c.more_new
FROM chosen c JOIN received_span s ON s.tenant = :tenant AND s.id = c.id
ORDER BY s.received_at, s.id

-- find_due_traces --
-- Find traces with new spans of which none came lately, or one long ago: of each caller in turn, the longest waiting.
SELECT tenant, trace, actor, turn FROM (
  SELECT tenant, trace, actor, min(received_at) AS since,
    row_number() OVER (PARTITION BY tenant, actor ORDER BY min(received_at), trace) AS turn
  FROM received_span WHERE is_new
  GROUP BY tenant, actor, trace HAVING max(received_at) <= :quiet_since OR min(received_at) <= :at_latest
) q
ORDER BY turn, since, trace LIMIT :limit

-- find_finished_traces --
-- Find traces of which no span came for long: of each caller in turn, the longest waiting.
SELECT tenant, trace, actor, turn FROM (
  SELECT s.tenant, s.trace, s.actor, max(s.received_at) AS since,
    row_number() OVER (PARTITION BY s.tenant, s.actor ORDER BY max(s.received_at), s.trace) AS turn
  FROM received_span s
  WHERE s.received_at <= :before AND NOT EXISTS (
    SELECT FROM received_span n WHERE n.tenant = s.tenant AND n.trace = s.trace AND n.received_at > :before)
  GROUP BY s.tenant, s.actor, s.trace
) q
ORDER BY turn, since, trace LIMIT :limit

-- mark_spans_read --
-- Mark spans as read by an import.
UPDATE received_span SET is_new = false WHERE tenant = :tenant AND is_new AND id = ANY(CAST(:ids AS uuid[]))

-- spans_wait --
-- Tell whether any span waits to be imported.
SELECT EXISTS (SELECT FROM received_span WHERE is_new) AS some
