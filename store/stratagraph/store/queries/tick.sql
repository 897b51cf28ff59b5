-- Store the present snapshot, if a transaction has finished since the last one was stored.
INSERT INTO sync_tick (snap)
SELECT pg_current_snapshot()
WHERE pg_try_advisory_xact_lock(7001)
  AND pg_snapshot_xmax(pg_current_snapshot()) IS DISTINCT FROM
      (SELECT pg_snapshot_xmax(snap) FROM sync_tick ORDER BY id DESC LIMIT 1)
