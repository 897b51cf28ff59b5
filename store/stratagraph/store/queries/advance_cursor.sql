-- Fenced by owner and epoch: no row means the lease was lost.
UPDATE sync_cursor
SET tick = :tick, win_tick = :win_tick, win_seq = :win_seq, fails = 0,
    lease_until = clock_timestamp() + make_interval(secs => :lease_s)
WHERE consumer = :consumer AND shard = :shard AND owner = :owner AND epoch = :epoch
RETURNING tick
