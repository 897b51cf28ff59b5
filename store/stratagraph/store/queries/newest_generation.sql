SELECT generation, state, reason, done, total, started_at, completed_at FROM mirror_generation
WHERE mirror = :mirror AND tenant IS NULL ORDER BY generation DESC LIMIT 1
