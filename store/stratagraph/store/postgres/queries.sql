-- count_default_rows --
-- Count the rows in the default partition of the change log.
SELECT count(*) AS strays FROM (SELECT FROM sync_log_default LIMIT 1000) found

-- delete_default_rows --
-- Rows that found no day, of days that are over, once every consumer has seen them.
DELETE FROM sync_log_default
WHERE day < :day AND xid < ({feed_horizon})
RETURNING seq

-- feed_horizon --
-- Fragment: the transaction id below which every consumer has read the log.
SELECT coalesce(min(pg_snapshot_xmin(t.snap)), '0'::xid8) FROM sync_cursor c JOIN sync_tick t ON t.id = c.tick

-- forget_stale_cursors --
-- A consumer that has left something unread for so long holds up the log no more.
-- It reads everything afresh when it comes back; those that could not, are waited for.
DELETE FROM sync_cursor c
WHERE c.rereads AND EXISTS (
  SELECT FROM sync_tick t WHERE t.id > c.tick AND t.at < CAST(:before AS timestamptz))
RETURNING c.consumer

-- list_log_days --
-- List the partitions of the change log.
SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'sync_log'::regclass ORDER BY 1

-- read_horizon --
-- Everything below it, every consumer has seen.
-- It only ever grows.
SELECT ({feed_horizon})::text AS horizon
