-- Rows that found no day, of days that are over, once every consumer has seen them.
DELETE FROM sync_log_default
WHERE day < :day AND xid < ({feed_horizon})
RETURNING seq
