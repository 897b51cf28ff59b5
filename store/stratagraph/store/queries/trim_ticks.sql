-- Ticks that every consumer has passed bound no window any more. The last hour's tell readers of the past when a
-- recent instant is settled.
DELETE FROM sync_tick WHERE id IN (
  SELECT id FROM sync_tick WHERE id < (SELECT min(tick) FROM sync_cursor) AND at < clock_timestamp() - interval '1 hour' ORDER BY id LIMIT :limit
)
