-- delete_read_spans --
-- Delete the spans of a trace that were received up to an instant.
DELETE FROM received_span WHERE tenant = :tenant AND trace = :trace AND received_at <= :before

-- fetch_conversation_spans --
-- Fetch the spans of a trace and of all traces of its conversations; of many, the newest that fit into :bytes.
SELECT id, trace, caller_name, caller_key, caller_scopes, caller_ceiling, caller_access, scope, content, sealed,
  received_at
FROM (
  SELECT s.*, sum(s.size) OVER (ORDER BY s.received_at DESC, s.id) AS until_here
  FROM received_span s
  WHERE s.tenant = :tenant AND (s.trace = :trace OR s.trace IN (
    SELECT o.trace FROM received_span o WHERE o.tenant = :tenant AND o.conversation IN (
      SELECT n.conversation FROM received_span n
      WHERE n.tenant = :tenant AND n.trace = :trace AND n.conversation IS NOT NULL)))
) q
WHERE q.until_here <= :bytes ORDER BY received_at, id

-- find_due_traces --
-- Find traces with new spans of which none came lately, or one long ago, the longest waiting first.
SELECT tenant, trace FROM received_span WHERE is_new
GROUP BY tenant, trace HAVING max(received_at) <= :quiet_since OR min(received_at) <= :at_latest
ORDER BY min(received_at), trace LIMIT :limit

-- find_finished_traces --
-- Find traces of which no span came for long.
SELECT DISTINCT s.tenant, s.trace FROM received_span s
WHERE s.received_at <= :before AND NOT EXISTS (
  SELECT FROM received_span n WHERE n.tenant = s.tenant AND n.trace = s.trace AND n.received_at > :before)
LIMIT :limit

-- mark_spans_read --
-- Mark spans as read by an import, with older ones of their traces, which did not fit.
UPDATE received_span SET is_new = false
WHERE tenant = :tenant AND is_new AND (id = ANY(CAST(:ids AS uuid[]))
  OR (trace = ANY(CAST(:traces AS bytea[])) AND received_at < :older_than))

-- spans_wait --
-- Tell whether any span waits to be imported.
SELECT EXISTS (SELECT FROM received_span WHERE is_new) AS some
