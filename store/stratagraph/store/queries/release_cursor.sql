UPDATE sync_cursor SET lease_until = '-infinity'
WHERE consumer = :consumer AND shard = :shard AND owner = :owner AND epoch = :epoch
