SELECT coalesce(min(pg_snapshot_xmin(t.snap)), '0'::xid8) FROM sync_cursor c JOIN sync_tick t ON t.id = c.tick
