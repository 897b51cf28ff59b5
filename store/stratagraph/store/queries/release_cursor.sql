UPDATE sync_cursor c SET lease_until = '-infinity'
FROM unnest(CAST(:cursors AS smallint[]), CAST(:epochs AS bigint[])) AS held(shard, epoch)
WHERE c.consumer = :consumer AND c.shard = held.shard AND c.owner = :owner AND c.epoch = held.epoch
