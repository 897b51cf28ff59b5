-- Ticks that every consumer has passed bound no window any more.
DELETE FROM sync_tick WHERE id IN (
  SELECT id FROM sync_tick WHERE id < (SELECT min(tick) FROM sync_cursor) ORDER BY id LIMIT :limit
)
