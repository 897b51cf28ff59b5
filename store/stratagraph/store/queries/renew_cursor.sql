UPDATE sync_cursor SET lease_until = clock_timestamp() + make_interval(secs => :lease_s)
WHERE consumer = :consumer AND shard = :shard AND owner = :owner AND epoch = :epoch
RETURNING tick
