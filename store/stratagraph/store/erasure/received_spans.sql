-- fetch_waiting_spans --
-- Fetch the spans of a tenant that were received, after one of them in the order of their ids.
SELECT id, content, sealed FROM received_span
WHERE tenant = :tenant AND (CAST(:after AS uuid) IS NULL OR id > :after) ORDER BY id LIMIT :limit
