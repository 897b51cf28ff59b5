-- How far a mirror is for a tenant, and whether it shows the truth: a mirror is the consumer of its name.
WITH {feed_lag}, newest AS (
  SELECT generation, state FROM mirror_generation
  WHERE mirror = :consumer AND (tenant IS NULL OR tenant = :tenant) AND (tenant IS NULL OR state = 'building')
  ORDER BY generation DESC LIMIT 1
)
SELECT lag.tick, lag.changes, lag.seconds, newest.generation, newest.state IN ('active', 'refreshing') AS whole
FROM lag, newest
