-- The present snapshot, and whether the log holds anything that the last stored one does not see. (Asking whether any
-- transaction has finished would never come to rest: storing a tick is one.)
WITH last AS (SELECT snap FROM sync_tick ORDER BY id DESC LIMIT 1)
SELECT pg_current_snapshot()::text AS snap, f.incarnation AS known, {incarnation} AS incarnation,
  EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS is_spread,
  NOT EXISTS (SELECT FROM last)
  OR EXISTS (SELECT FROM sync_log WHERE shard = ANY(CAST(:shards AS smallint[]))
             AND xid >= (SELECT pg_snapshot_xmax(snap) FROM last))
  OR EXISTS (SELECT FROM sync_log WHERE shard = ANY(CAST(:shards AS smallint[]))
             AND xid = ANY (ARRAY(SELECT pg_snapshot_xip(snap) FROM last))) AS has_news
FROM sync_feed f
