-- advance_cursor --
-- Move the cursors of a lease to a new position and extend the lease.
-- Fenced by owner and epoch: if it returns fewer rows than the lease has cursors, the lease was lost.
UPDATE sync_cursor c
SET snapshot = :snapshot, window_snapshot = :window_snapshot, window_seq = :window_seq,
    lease_until = clock_timestamp() + make_interval(secs => :lease_s)
FROM unnest(CAST(:cursors AS smallint[]), CAST(:epochs AS bigint[])) AS held(shard, epoch)
WHERE c.consumer = :consumer AND c.shard = held.shard AND c.owner = :owner AND c.epoch = held.epoch
RETURNING c.shard

-- count_cursors_held --
-- Count the cursors that each live worker holds.
SELECT w.owner, count(c.shard) AS cursors
FROM sync_worker w LEFT JOIN sync_cursor c
  ON c.consumer = w.consumer AND c.owner = w.owner AND c.lease_until >= clock_timestamp()
WHERE w.consumer = :consumer AND w.alive_until >= clock_timestamp() GROUP BY w.owner ORDER BY w.owner

-- feed_lag --
-- Fragment: how far a consumer is behind the log, and the position up to which it has read (`oldest`, `applied`).
-- `changes` are the rows that the snapshot of its oldest cursor does not see, counted to 10,000.
{feed_position}, waiting AS (
  SELECT count(*) AS changes FROM (
    SELECT 1 FROM sync_log, applied
    WHERE shard = ANY(CAST(:shards AS smallint[]))
      AND (xid >= pg_snapshot_xmax(snap) OR xid = ANY (ARRAY(SELECT pg_snapshot_xip(snap))))
    LIMIT 10000) unread
), lag AS (
  SELECT oldest.snapshot, waiting.changes, {feed_age} AS seconds FROM oldest, waiting
)

-- feed_age --
-- Fragment: the seconds since the oldest transaction began whose changes a consumer has not read; 0 without any.
-- It is at least the age of every change that the consumer lacks. A transaction commits after it has received its id,
-- and receives it after it has begun; so every other unread change is younger than the transaction with the lowest id
-- in some shard, of those that the consumer's snapshot does not see.
coalesce(extract(epoch FROM clock_timestamp() - (
  SELECT min(coalesce(unread.began_at, applied.at))
  FROM applied, unnest(CAST(:shards AS smallint[])) AS one(shard), LATERAL (
    (SELECT l.began_at FROM sync_log l WHERE l.shard = one.shard AND l.xid = ANY (ARRAY(SELECT pg_snapshot_xip(applied.snap))))
    UNION ALL
    (SELECT l.began_at FROM sync_log l WHERE l.shard = one.shard AND l.xid >= pg_snapshot_xmax(applied.snap)
     ORDER BY l.xid LIMIT 1)
  ) unread)), 0)::float8

-- feed_position --
-- Fragment: the position of a consumer's oldest cursor, and the snapshot that it has applied.
oldest AS (
  SELECT min(snapshot) AS snapshot FROM sync_cursor WHERE consumer = :consumer
), applied AS (
  SELECT s.snap, s.at FROM sync_snapshot s, oldest WHERE s.id = oldest.snapshot
)

-- fetch_snapshots --
-- Fetch the two snapshots that bound a window.
SELECT id, snap::text AS snap, nonce FROM sync_snapshot WHERE id IN (:earlier, :later)

-- find_window_end --
-- Find the snapshot that ends the next window, at most :snapshots after the given one, and how many it spans; null if
-- there is none.
SELECT max(id) AS snapshot, count(*) AS span FROM (SELECT id FROM sync_snapshot WHERE id > :earlier ORDER BY id LIMIT :snapshots) next

-- incarnation --
-- Fragment: system identifier, timeline and oid of this database.
(SELECT format('%s/%s/%s', s.system_identifier, c.timeline_id, d.oid)
 FROM pg_control_system() s, pg_control_checkpoint() c, pg_database d WHERE d.datname = current_database())

-- insert_snapshot --
-- Store a snapshot.
INSERT INTO sync_snapshot (snap) VALUES (CAST(:snap AS pg_snapshot))

-- hold_snapshots --
-- Wait until no other transaction deletes snapshots or moves cursors back to one, and keep others from it.
-- This is a statement of its own, so that the next statement sees what that transaction did.
SELECT pg_advisory_xact_lock(7004)

-- join_workers --
-- Store the heartbeat of a worker, delete workers whose heartbeat has expired, and count the live ones.
-- An expiry further ahead than any heartbeat can be was stored before the server's clock was set back.
WITH mine AS (
  INSERT INTO sync_worker (consumer, owner, alive_until)
  VALUES (:consumer, :owner, clock_timestamp() + make_interval(secs => :lease_s))
  ON CONFLICT (consumer, owner) DO UPDATE SET alive_until = excluded.alive_until
), expired AS (
  DELETE FROM sync_worker WHERE consumer = :consumer AND owner <> :owner
    AND (alive_until < clock_timestamp() OR alive_until > clock_timestamp() + make_interval(secs => 2 * :lease_s))
)
SELECT 1 + count(*) AS workers FROM sync_worker
WHERE consumer = :consumer AND owner <> :owner AND alive_until >= clock_timestamp()
  AND alive_until <= clock_timestamp() + make_interval(secs => 2 * :lease_s)

-- lease_cursor --
-- Lease at most :limit idle cursors at one position, the one furthest behind.
-- SKIP LOCKED skips only the rows of this small table. A lease that ends later than any lease can was stored before the
-- server's clock was set back.
WITH idle AS (
  SELECT consumer, shard, snapshot, window_snapshot, window_seq FROM sync_cursor
  WHERE consumer = :consumer
    AND (lease_until < clock_timestamp() OR lease_until > clock_timestamp() + make_interval(secs => 2 * :lease_s))
  ORDER BY lease_until, shard FOR UPDATE SKIP LOCKED
), furthest AS (
  SELECT snapshot, window_snapshot, window_seq FROM idle
  ORDER BY snapshot, window_snapshot NULLS FIRST, window_seq LIMIT 1
), chosen AS (
  SELECT i.consumer, i.shard FROM idle i, furthest f
  WHERE i.snapshot = f.snapshot AND i.window_snapshot IS NOT DISTINCT FROM f.window_snapshot
    AND i.window_seq = f.window_seq
  ORDER BY i.shard LIMIT :limit
)
UPDATE sync_cursor c
SET owner = :owner, epoch = c.epoch + 1, lease_until = clock_timestamp() + make_interval(secs => :lease_s)
FROM chosen
WHERE (c.consumer, c.shard) = (chosen.consumer, chosen.shard)
RETURNING c.shard, c.epoch, c.snapshot, c.window_snapshot, c.window_seq

-- leave_workers --
-- Remove a worker from the list of live workers.
DELETE FROM sync_worker WHERE consumer = :consumer AND owner = :owner

-- list_consumers --
-- List the consumers that have cursors.
SELECT DISTINCT consumer FROM sync_cursor ORDER BY consumer

-- list_prepared_commits --
-- List the names of the two-phase commits that are prepared on Citus workers, as one text per worker.
SELECT result FROM run_command_on_workers(
  $$SELECT coalesce(string_agg(replace(gid, ' ', '_'), ' '), '') FROM pg_prepared_xacts$$)

-- lock_incarnation --
-- Lock the stored incarnation, and return it beside the present one.
SELECT f.incarnation AS known, {incarnation} AS incarnation FROM sync_feed f FOR UPDATE OF f

-- lock_snapshots --
-- Try to lock the storing of snapshots, without waiting; the snapshot of another process serves as well.
-- This is a statement of its own, so that the next statement's snapshot is later than the last one stored.
SELECT pg_try_advisory_xact_lock(7001) AS locked

-- measure_lag --
-- Measure how far a consumer is behind the log, and count its dead letters.
WITH {feed_lag}
SELECT snapshot, changes, seconds, (SELECT count(*) FROM sync_dead_letter WHERE consumer = :consumer) AS dead_letters
FROM lag

-- find_tenant_window_end --
-- Find the snapshot that ends the next window of a reader, at most :snapshots after the given one and not after :until.
SELECT max(id) AS snapshot, count(*) AS span FROM (
  SELECT id FROM sync_snapshot WHERE id > :earlier AND (CAST(:until AS bigint) IS NULL OR id <= CAST(:until AS bigint))
  ORDER BY id LIMIT :snapshots
) next

-- read_newest_snapshot --
-- Read the newest snapshot. There is always one.
SELECT id, nonce FROM sync_snapshot ORDER BY id DESC LIMIT 1

-- read_changes --
-- Read the changes of a window in the order of seq, one for each row and transaction; with :tenant, only that tenant's.
-- What one transaction did to a row is one change, because no reader sees less of it.
SELECT max(seq) AS seq, tenant, kind, id, min(version) AS first, max(version) AS last, bool_or(op = 'D') AS is_deleted,
  coalesce(min(began_at), now()) AS began_at, min(scope) AS scope, min(sensitivity) AS sensitivity, max(raised_to) AS raised_to,
  (array_agg(source) FILTER (WHERE source IS NOT NULL))[1] AS source,
  (array_agg(target) FILTER (WHERE target IS NOT NULL))[1] AS target
FROM ({unseen_changes}) unseen
WHERE pg_visible_in_snapshot(xid, CAST(:later AS pg_snapshot)) AND op <> 'R'
  AND (CAST(:tenant AS bigint) IS NULL OR tenant = CAST(:tenant AS bigint))
GROUP BY tenant, kind, id, xid, CASE WHEN kind = 3 THEN scope END, CASE WHEN kind = 3 THEN sensitivity END
HAVING max(seq) > :after
ORDER BY max(seq) LIMIT :page

-- unseen_changes --
-- Fragment: the rows of the log that the snapshot :earlier does not see, up to the xmax of :later.
SELECT * FROM sync_log
WHERE shard = ANY(CAST(:shards AS smallint[]))
  AND xid >= pg_snapshot_xmax(CAST(:earlier AS pg_snapshot)) AND xid < pg_snapshot_xmax(CAST(:later AS pg_snapshot))
UNION ALL
SELECT * FROM sync_log
WHERE shard = ANY(CAST(:shards AS smallint[]))
  AND xid = ANY (ARRAY(SELECT pg_snapshot_xip(CAST(:earlier AS pg_snapshot))))

-- read_feed_state --
-- Read the present snapshot, both incarnations, and whether the log has changes that the last snapshot does not see.
-- Whether any transaction has finished would always be true: storing a snapshot is a transaction.
WITH last AS (SELECT snap FROM sync_snapshot ORDER BY id DESC LIMIT 1)
SELECT pg_current_snapshot()::text AS snap, f.incarnation AS known, {incarnation} AS incarnation,
  EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS is_distributed,
  NOT EXISTS (SELECT FROM last)
  OR EXISTS (SELECT FROM sync_log WHERE shard = ANY(CAST(:shards AS smallint[]))
             AND xid >= (SELECT pg_snapshot_xmax(snap) FROM last))
  OR EXISTS (SELECT FROM sync_log WHERE shard = ANY(CAST(:shards AS smallint[]))
             AND xid = ANY (ARRAY(SELECT pg_snapshot_xip(snap) FROM last))) AS has_news
FROM sync_feed f

-- read_incarnation --
-- Return the incarnation of this database.
SELECT {incarnation} AS incarnation

-- read_oldest_writer --
-- Read the lowest id of an open transaction that writes for the tenant, or for any tenant (0); null if there is none.
-- Such a transaction holds the advisory lock (:space:, :tenant:) from its first statement on. The ids in pg_locks have
-- 32 bits, which the newest id extends to 64 bits.
SELECT min(newest.xid - mod(newest.xid - own.transactionid::text::bigint, 4294967296)) AS oldest
FROM pg_locks held
JOIN pg_locks own ON own.virtualtransaction = held.virtualtransaction AND own.locktype = 'transactionid'
  AND own.mode = 'ExclusiveLock' AND own.granted,
  (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid) newest
WHERE held.locktype = 'advisory' AND held.classid::bigint = :space AND held.objid::bigint IN (:tenant, 0)
  AND held.objsubid = 2 AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())

-- read_settling_horizon --
-- Read the id of a transaction that received it after :after: that of the first snapshot stored since, or this one.
-- The xmax of that snapshot would not serve: a writer that no later transaction has overtaken may have that id or a
-- higher one. xmin is a 32-bit id, which the newest id extends to 64 bits.
SELECT coalesce(
  (SELECT newest.xid - mod(newest.xid - s.xmin::text::bigint, 4294967296)
   FROM sync_snapshot s, (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid) newest
   WHERE s.at >= :after ORDER BY s.at LIMIT 1),
  pg_current_xact_id()::text::bigint) AS horizon

-- read_window --
-- Read the changes that the later snapshot sees and the earlier one does not, in the order of seq.
-- The earlier one does not see a transaction whose id is at least its xmax, nor one that was in progress then; that
-- makes two branches, each with an index.
-- Runs of learning are left out: consumers write rows of records and relations.
SELECT seq, tenant, kind, id, version, op FROM ({unseen_changes}) unseen
WHERE pg_visible_in_snapshot(xid, CAST(:later AS pg_snapshot)) AND seq > :after AND kind <= 2
ORDER BY seq LIMIT :page

-- record_follow --
-- Record that a worker has completed a pass over the feed.
UPDATE sync_worker SET followed_at = clock_timestamp() WHERE consumer = :consumer AND owner = :owner

-- release_cursor --
-- Release the cursors of a lease.
UPDATE sync_cursor c SET lease_until = '-infinity'
FROM unnest(CAST(:cursors AS smallint[]), CAST(:epochs AS bigint[])) AS held(shard, epoch)
WHERE c.consumer = :consumer AND c.shard = held.shard AND c.owner = :owner AND c.epoch = held.epoch

-- renew_cursor --
-- Extend the lease on those cursors that the owner still holds.
UPDATE sync_cursor c SET lease_until = clock_timestamp() + make_interval(secs => :lease_s)
FROM unnest(CAST(:cursors AS smallint[]), CAST(:epochs AS bigint[])) AS held(shard, epoch)
WHERE c.consumer = :consumer AND c.shard = held.shard AND c.owner = :owner AND c.epoch = held.epoch
RETURNING c.shard

-- restart_snapshots --
-- Replace all snapshots by a present one, move every cursor there, and end all leases.
-- The leases were given in another database.
WITH old_snapshots AS (
  DELETE FROM sync_snapshot
), old_workers AS (
  DELETE FROM sync_worker
), old_leaders AS (
  UPDATE mirror_leader SET owner = NULL, lease_until = '-infinity'
), first AS (
  INSERT INTO sync_snapshot (snap) VALUES (pg_current_snapshot()) RETURNING id
)
UPDATE sync_cursor SET snapshot = first.id, window_snapshot = NULL, window_seq = 0, owner = NULL, epoch = epoch + 1,
  lease_until = '-infinity'
FROM first

-- token_applied --
-- Return whether the snapshot of every cursor sees the given transaction.
SELECT bool_and(pg_visible_in_snapshot(CAST(:token AS xid8), s.snap)) AS applied
FROM sync_cursor c JOIN sync_snapshot s ON s.id = c.snapshot
WHERE c.consumer = :consumer

-- trim_snapshots --
-- Delete the oldest snapshots that every consumer has passed, but never the newest one.
-- Those of the last day stay: a mirror that is a copy as old as one of them is rewound to it, and the log keeps all that
-- it does not see. By those of the last seconds, readers of the past find out whether a recent instant is settled.
DELETE FROM sync_snapshot WHERE id IN (
  SELECT id FROM sync_snapshot
  WHERE id < coalesce((SELECT min(snapshot) FROM sync_cursor), (SELECT max(id) FROM sync_snapshot))
    AND at < clock_timestamp() - interval '1 day'
  ORDER BY id LIMIT :limit
)

-- update_incarnation --
-- Store the incarnation of this database.
UPDATE sync_feed SET incarnation = :incarnation
