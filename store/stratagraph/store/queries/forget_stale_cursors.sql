-- A consumer that has left something unread for so long holds up the log no more. It reads everything afresh when it
-- comes back; those that could not, are waited for.
DELETE FROM sync_cursor c
WHERE c.rereads AND EXISTS (
  SELECT FROM sync_tick t WHERE t.id > c.tick AND t.at < CAST(:before AS timestamptz))
RETURNING c.consumer
