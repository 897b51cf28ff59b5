SELECT tenant, id, cause, queued_at, attempts, error FROM reevaluation
WHERE next_try_at <= :now ORDER BY next_try_at LIMIT :limit FOR UPDATE SKIP LOCKED
