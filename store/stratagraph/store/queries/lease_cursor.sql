-- Take idle cursors that stand at one place, at most :most. SKIP LOCKED only ever meets these few rows. A lease that
-- ends later than any can was given before the server's clock was set back.
WITH idle AS (
  SELECT consumer, shard, tick, win_tick, win_seq FROM sync_cursor
  WHERE consumer = :consumer
    AND (lease_until < clock_timestamp() OR lease_until > clock_timestamp() + make_interval(secs => 2 * :lease_s))
  ORDER BY lease_until, shard FOR UPDATE SKIP LOCKED
), place AS (
  SELECT tick, win_tick, win_seq FROM idle ORDER BY tick, win_tick NULLS FIRST, win_seq LIMIT 1
), chosen AS (
  SELECT i.consumer, i.shard FROM idle i, place p
  WHERE i.tick = p.tick AND i.win_tick IS NOT DISTINCT FROM p.win_tick AND i.win_seq = p.win_seq
  ORDER BY i.shard LIMIT :most
)
UPDATE sync_cursor c
SET owner = :owner, epoch = c.epoch + 1, lease_until = clock_timestamp() + make_interval(secs => :lease_s)
FROM chosen
WHERE (c.consumer, c.shard) = (chosen.consumer, chosen.shard)
RETURNING c.shard, c.epoch, c.tick, c.win_tick, c.win_seq
