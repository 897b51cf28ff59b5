-- The latest closed episode of each thread.
SELECT DISTINCT ON (scope, sensitivity, thread_key) scope, sensitivity, thread_key, id
FROM episode
WHERE tenant = :tenant AND thread_key = ANY(CAST(:keys AS bytea[])) AND closed_at IS NOT NULL
ORDER BY scope, sensitivity, thread_key, opened_at DESC, id DESC
