-- count_default_rows --
-- Count the rows in the default partition of the change log, up to 1,000.
SELECT count(*) AS rows FROM (SELECT FROM sync_log_default LIMIT 1000) found

-- delete_default_rows --
-- Delete the rows of the default partition that belong to past days and that every stored snapshot sees.
DELETE FROM sync_log_default
WHERE day < :day AND xid < ({feed_horizon})
RETURNING seq

-- delete_stale_cursors --
-- Delete the cursors of consumers that have left a snapshot unread for too long and can read everything again.
-- Their partitions can then be dropped. A consumer that could not read everything again keeps its cursors.
DELETE FROM sync_cursor c
WHERE c.rereads AND EXISTS (
  SELECT FROM sync_snapshot s WHERE s.id > c.snapshot AND s.at < CAST(:before AS timestamptz))
RETURNING c.consumer

-- feed_horizon --
-- Fragment: the transaction id below which every stored snapshot, and with it every consumer, has seen the log.
-- So the log keeps all that any stored snapshot does not see, and a cursor can be moved back to each of them.
coalesce((SELECT pg_snapshot_xmin(snap) FROM sync_snapshot ORDER BY id LIMIT 1), '0'::xid8)

-- fetch_revision --
-- Fetch the revision of the database.
SELECT version_num FROM alembic_version

-- list_log_days --
-- List the partitions of the change log.
SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'sync_log'::regclass ORDER BY 1

-- probe_database --
-- Read whether the server accepts writes of a new transaction, and its clock in seconds since 1970.
SELECT pg_is_in_recovery() AS is_standby, current_setting('transaction_read_only') = 'on' AS is_read_only,
  CAST(extract(epoch FROM clock_timestamp()) AS double precision) AS clock_s

-- read_horizon --
-- Read the transaction id below which every stored snapshot has seen the log. It never decreases.
SELECT ({feed_horizon})::text AS horizon

-- backend_pid --
-- Fetch the number of the server's process that serves this connection.
SELECT pg_backend_pid() AS pid

-- is_waited_for --
-- Find out whether a transaction waits for a lock that the server's process :pid holds.
SELECT EXISTS (SELECT FROM pg_locks l WHERE NOT l.granted AND :pid = ANY (pg_blocking_pids(l.pid))) AS is_waited_for
