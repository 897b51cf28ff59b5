-- How far behind: rows of the log that the oldest cursor's snapshot does not see, and the age of the oldest of the
-- unread ticks (a tick is stored whenever anything committed, so with none unread nothing waits).
WITH cursor AS (
  SELECT min(tick) AS tick FROM sync_cursor WHERE consumer = :consumer
), snapshot AS (
  SELECT t.snap FROM sync_tick t, cursor WHERE t.id = cursor.tick
), waiting AS (
  SELECT count(*) AS changes FROM sync_log, snapshot
  WHERE (xid >= pg_snapshot_xmax(snap) OR xid = ANY (ARRAY(SELECT pg_snapshot_xip(snap))))
)
SELECT cursor.tick, waiting.changes,
  CASE WHEN waiting.changes = 0 THEN 0
    ELSE coalesce(extract(epoch FROM clock_timestamp() - (SELECT min(at) FROM sync_tick WHERE id > cursor.tick)), 0)
  END::float8 AS seconds,
  (SELECT count(*) FROM sync_parked WHERE consumer = :consumer) AS parked
FROM cursor, waiting
