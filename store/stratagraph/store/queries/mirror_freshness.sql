-- How far the mirror is for a tenant. Changes are counted to 10,000: beyond, it is simply far. A tick is stored whenever
-- the log grew, so without a later one nothing waits.
WITH cursor AS (
  SELECT min(tick) AS tick FROM sync_cursor WHERE consumer = :mirror
), snapshot AS (
  SELECT t.snap FROM sync_tick t, cursor WHERE t.id = cursor.tick
), waiting AS (
  SELECT count(*) AS changes FROM (
    SELECT 1 FROM sync_log, snapshot
    WHERE shard = ANY(CAST(:shards AS smallint[]))
      AND (xid >= pg_snapshot_xmax(snap) OR xid = ANY (ARRAY(SELECT pg_snapshot_xip(snap))))
    LIMIT 10000) unread
), newest AS (
  SELECT generation, state FROM mirror_generation
  WHERE mirror = :mirror AND (tenant IS NULL OR tenant = :tenant) AND (tenant IS NULL OR state = 'building')
  ORDER BY generation DESC LIMIT 1
)
SELECT cursor.tick, waiting.changes, newest.generation, newest.state IN ('active', 'refreshing') AS whole,
  CASE WHEN waiting.changes = 0 THEN 0
    ELSE coalesce(extract(epoch FROM clock_timestamp() - (SELECT min(at) FROM sync_tick WHERE id > cursor.tick)), 0)
  END::float8 AS seconds
FROM cursor, waiting, newest
