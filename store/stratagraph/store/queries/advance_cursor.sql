-- Fenced by owner and epoch: fewer rows than asked for means that a lease was lost.
UPDATE sync_cursor c
SET tick = :tick, win_tick = :win_tick, win_seq = :win_seq,
    lease_until = clock_timestamp() + make_interval(secs => :lease_s)
FROM unnest(CAST(:cursors AS smallint[]), CAST(:epochs AS bigint[])) AS held(shard, epoch)
WHERE c.consumer = :consumer AND c.shard = held.shard AND c.owner = :owner AND c.epoch = held.epoch
RETURNING c.shard
