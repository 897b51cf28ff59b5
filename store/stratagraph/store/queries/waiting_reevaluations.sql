SELECT id, cause, queued_at, attempts, error FROM reevaluation
WHERE tenant = :tenant ORDER BY queued_at, id LIMIT :limit
