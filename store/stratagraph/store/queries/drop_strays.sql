-- Rows that found no day, of days that are over, once every consumer has seen them.
DELETE FROM sync_log_default
WHERE day < :day AND xid < (
  SELECT coalesce(min(pg_snapshot_xmin(t.snap)), '0'::xid8) FROM sync_cursor c JOIN sync_tick t ON t.id = c.tick)
RETURNING seq
