-- The only tick is one of now, and everybody stands at it. Whoever held anything, held it of another database.
WITH gone AS (
  DELETE FROM sync_tick
), dead AS (
  DELETE FROM sync_worker
), unkept AS (
  UPDATE mirror_keeper SET owner = NULL, lease_until = '-infinity'
), first AS (
  INSERT INTO sync_tick (snap) VALUES (pg_current_snapshot()) RETURNING id
)
UPDATE sync_cursor SET tick = first.id, win_tick = NULL, win_seq = 0, owner = NULL, epoch = epoch + 1,
  lease_until = '-infinity'
FROM first
