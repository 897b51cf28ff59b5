-- Whether every cursor's snapshot already sees the transaction.
SELECT bool_and(pg_visible_in_snapshot(CAST(:token AS xid8), t.snap)) AS applied
FROM sync_cursor c JOIN sync_tick t ON t.id = c.tick
WHERE c.consumer = :consumer
