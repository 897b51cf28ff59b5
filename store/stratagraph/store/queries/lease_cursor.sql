-- Take one cursor whose lease has run out. SKIP LOCKED only ever meets these few rows.
UPDATE sync_cursor c
SET owner = :owner, epoch = c.epoch + 1, lease_until = clock_timestamp() + make_interval(secs => :lease_s)
FROM (
  SELECT consumer, shard FROM sync_cursor
  WHERE consumer = :consumer AND lease_until < clock_timestamp()
  ORDER BY lease_until LIMIT 1 FOR UPDATE SKIP LOCKED
) idle
WHERE (c.consumer, c.shard) = (idle.consumer, idle.shard)
RETURNING c.shard, c.epoch, c.tick, c.win_tick, c.win_seq
