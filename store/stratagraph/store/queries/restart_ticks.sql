-- The only tick is one of now, and everybody stands at it. Whoever held a cursor has lost it.
WITH gone AS (
  DELETE FROM sync_tick
), first AS (
  INSERT INTO sync_tick (snap) VALUES (pg_current_snapshot()) RETURNING id
)
UPDATE sync_cursor SET tick = first.id, win_tick = NULL, win_seq = 0, owner = NULL, epoch = epoch + 1,
  lease_until = '-infinity'
FROM first
