-- What the later snapshot sees and the earlier did not, in the order of seq. "Not seen by the earlier one" is exactly
-- xid >= its xmax or xid in progress then, which makes two indexed branches.
SELECT seq, tenant, kind, id, version, op FROM (
  SELECT * FROM sync_log
  WHERE shard = ANY(CAST(:shards AS smallint[]))
    AND xid >= pg_snapshot_xmax(CAST(:earlier AS pg_snapshot)) AND xid < pg_snapshot_xmax(CAST(:later AS pg_snapshot))
  UNION ALL
  SELECT * FROM sync_log
  WHERE shard = ANY(CAST(:shards AS smallint[]))
    AND xid = ANY (ARRAY(SELECT pg_snapshot_xip(CAST(:earlier AS pg_snapshot))))
) q
WHERE pg_visible_in_snapshot(xid, CAST(:later AS pg_snapshot)) AND seq > :after
ORDER BY seq LIMIT :page
