-- How far behind a consumer is: rows of the log that its oldest cursor's snapshot does not see (counted to 10,000:
-- beyond, it is simply far), and the age of the oldest unread tick (one is stored whenever the log grew, so with none
-- nothing waits).
cursor AS (
  SELECT min(tick) AS tick FROM sync_cursor WHERE consumer = :consumer
), snapshot AS (
  SELECT t.snap FROM sync_tick t, cursor WHERE t.id = cursor.tick
), waiting AS (
  SELECT count(*) AS changes FROM (
    SELECT 1 FROM sync_log, snapshot
    WHERE shard = ANY(CAST(:shards AS smallint[]))
      AND (xid >= pg_snapshot_xmax(snap) OR xid = ANY (ARRAY(SELECT pg_snapshot_xip(snap))))
    LIMIT 10000) unread
), lag AS (
  SELECT cursor.tick, waiting.changes,
    CASE WHEN waiting.changes = 0 THEN 0
      ELSE coalesce(extract(epoch FROM clock_timestamp() - (SELECT min(at) FROM sync_tick WHERE id > cursor.tick)), 0)
    END::float8 AS seconds
  FROM cursor, waiting
)
