SELECT w.owner, count(c.shard) AS cursors
FROM sync_worker w LEFT JOIN sync_cursor c
  ON c.consumer = w.consumer AND c.owner = w.owner AND c.lease_until >= clock_timestamp()
WHERE w.consumer = :consumer AND w.alive_until >= clock_timestamp() GROUP BY w.owner ORDER BY w.owner
