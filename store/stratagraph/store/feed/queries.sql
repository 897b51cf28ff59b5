-- advance_cursor --
-- Fenced by owner and epoch: fewer rows than asked for means that a lease was lost.
UPDATE sync_cursor c
SET tick = :tick, win_tick = :win_tick, win_seq = :win_seq,
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
-- How far behind a consumer is: rows of the log that its oldest cursor's snapshot does not see (counted to 10,000: beyond, it is simply far), and the age of the oldest unread tick (one is stored whenever the log grew, so with none nothing waits).
cursor AS (
  SELECT min(tick) AS tick FROM sync_cursor WHERE consumer = :consumer
), snapshot AS (
  SELECT t.snap FROM sync_tick t, cursor WHERE t.id = cursor.tick
), waiting AS (
  SELECT count(*) AS changes FROM (
    SELECT 1 FROM sync_log, snapshot
    WHERE shard = ANY(CAST(:shards AS smallint[]))
      AND (xid >= pg_snapshot_xmax(snap) OR xid = ANY (ARRAY(SELECT pg_snapshot_xip(snap))))
    LIMIT 10000) unread
), lag AS (
  SELECT cursor.tick, waiting.changes,
    CASE WHEN waiting.changes = 0 THEN 0
      ELSE coalesce(extract(epoch FROM clock_timestamp() - (SELECT min(at) FROM sync_tick WHERE id > cursor.tick)), 0)
    END::float8 AS seconds
  FROM cursor, waiting
)

-- fetch_snapshots --
-- The two snapshots that bound a window.
SELECT id, snap::text AS snap, nonce FROM sync_tick WHERE id IN (:earlier, :later)

-- incarnation --
-- Fragment: system identifier, timeline and oid of this database.
(SELECT format('%s/%s/%s', s.system_identifier, c.timeline_id, d.oid)
 FROM pg_control_system() s, pg_control_checkpoint() c, pg_database d WHERE d.datname = current_database())

-- insert_snapshot --
-- Store a snapshot of the log.
INSERT INTO sync_tick (snap) VALUES (CAST(:snap AS pg_snapshot))

-- join_workers --
-- Say that this worker lives, forget those that do not, and tell how many there are.
WITH mine AS (
  INSERT INTO sync_worker (consumer, owner, alive_until)
  VALUES (:consumer, :owner, clock_timestamp() + make_interval(secs => :lease_s))
  ON CONFLICT (consumer, owner) DO UPDATE SET alive_until = excluded.alive_until
), gone AS (
  DELETE FROM sync_worker WHERE consumer = :consumer AND owner <> :owner
    AND (alive_until < clock_timestamp() OR alive_until > clock_timestamp() + make_interval(secs => 2 * :lease_s))
)
SELECT 1 + count(*) AS workers FROM sync_worker
WHERE consumer = :consumer AND owner <> :owner AND alive_until >= clock_timestamp()
  AND alive_until <= clock_timestamp() + make_interval(secs => 2 * :lease_s)

-- lease_cursor --
-- Take idle cursors that stand at one place, at most :most.
-- SKIP LOCKED only ever meets these few rows. A lease that ends later than any can was given before the server's clock
-- was set back.
WITH idle AS (
  SELECT consumer, shard, tick, win_tick, win_seq FROM sync_cursor
  WHERE consumer = :consumer
    AND (lease_until < clock_timestamp() OR lease_until > clock_timestamp() + make_interval(secs => 2 * :lease_s))
  ORDER BY lease_until, shard FOR UPDATE SKIP LOCKED
), place AS (
  SELECT tick, win_tick, win_seq FROM idle ORDER BY tick, win_tick NULLS FIRST, win_seq LIMIT 1
), chosen AS (
  SELECT i.consumer, i.shard FROM idle i, place p
  WHERE i.tick = p.tick AND i.win_tick IS NOT DISTINCT FROM p.win_tick AND i.win_seq = p.win_seq
  ORDER BY i.shard LIMIT :most
)
UPDATE sync_cursor c
SET owner = :owner, epoch = c.epoch + 1, lease_until = clock_timestamp() + make_interval(secs => :lease_s)
FROM chosen
WHERE (c.consumer, c.shard) = (chosen.consumer, chosen.shard)
RETURNING c.shard, c.epoch, c.tick, c.win_tick, c.win_seq

-- leave_workers --
-- Remove a worker from the list of live workers.
DELETE FROM sync_worker WHERE consumer = :consumer AND owner = :owner

-- list_prepared_commits --
-- Names of the two-phase commits that workers have prepared, in one text per worker.
SELECT result FROM run_command_on_workers(
  $$SELECT coalesce(string_agg(replace(gid, ' ', '_'), ' '), '') FROM pg_prepared_xacts$$)

-- lock_incarnation --
-- Lock the stored incarnation, and return it beside the present one.
SELECT f.incarnation AS known, {incarnation} AS incarnation FROM sync_feed f FOR UPDATE OF f

-- lock_snapshots --
-- Tickers take turns, and none waits: another's tick will do.
-- In a statement of its own, so that the snapshot of the next one is later than the tick of whoever held the lock
-- before.
SELECT pg_try_advisory_xact_lock(7001) AS locked

-- measure_lag --
-- Measure how far a consumer is behind the log, and count its dead letters.
WITH {feed_lag}
SELECT tick, changes, seconds, (SELECT count(*) FROM sync_parked WHERE consumer = :consumer) AS parked FROM lag

-- read_feed_state --
-- The present snapshot, and whether the log holds anything that the last stored one does not see.
-- (Asking whether any transaction has finished would never come to rest: storing a tick is one.)
WITH last AS (SELECT snap FROM sync_tick ORDER BY id DESC LIMIT 1)
SELECT pg_current_snapshot()::text AS snap, f.incarnation AS known, {incarnation} AS incarnation,
  EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS is_spread,
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
-- The lowest number of a running transaction that writes; past the last one, if none runs.
-- Must have no number itself.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest

-- read_settling_horizon --
-- A transaction that got its number after :after: the one that stored the first tick since, or else this one.
-- (The xmax of the tick's snapshot would not do: writers that nobody has overtaken yet have that number or a higher
-- one.)
SELECT coalesce(
  (SELECT newest.xid - mod(newest.xid - t.xmin::text::bigint, 4294967296)
   FROM sync_tick t, (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid) newest
   WHERE t.at >= :after ORDER BY t.id LIMIT 1),
  pg_current_xact_id()::text::bigint) AS horizon

-- read_window --
-- What the later snapshot sees and the earlier did not, in the order of seq. "Not seen by the earlier one" is exactly xid >= its xmax or xid in progress then, which makes two indexed branches.
SELECT seq, tenant, kind, id, version, op FROM (
  SELECT * FROM sync_log
  WHERE shard = ANY(CAST(:shards AS smallint[]))
    AND xid >= pg_snapshot_xmax(CAST(:earlier AS pg_snapshot)) AND xid < pg_snapshot_xmax(CAST(:later AS pg_snapshot))
  UNION ALL
  SELECT * FROM sync_log
  WHERE shard = ANY(CAST(:shards AS smallint[]))
    AND xid = ANY (ARRAY(SELECT pg_snapshot_xip(CAST(:earlier AS pg_snapshot))))
) q
WHERE pg_visible_in_snapshot(xid, CAST(:later AS pg_snapshot)) AND seq > :after
ORDER BY seq LIMIT :page

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
-- The only tick is one of now, and everybody stands at it.
-- Whoever held anything, held it of another database.
WITH gone AS (
  DELETE FROM sync_tick
), dead AS (
  DELETE FROM sync_worker
), unkept AS (
  UPDATE mirror_keeper SET owner = NULL, lease_until = '-infinity'
), first AS (
  INSERT INTO sync_tick (snap) VALUES (pg_current_snapshot()) RETURNING id
)
UPDATE sync_cursor SET tick = first.id, win_tick = NULL, win_seq = 0, owner = NULL, epoch = epoch + 1,
  lease_until = '-infinity'
FROM first

-- token_applied --
-- Whether every cursor's snapshot already sees the transaction.
SELECT bool_and(pg_visible_in_snapshot(CAST(:token AS xid8), t.snap)) AS applied
FROM sync_cursor c JOIN sync_tick t ON t.id = c.tick
WHERE c.consumer = :consumer

-- trim_snapshots --
-- Ticks that every consumer has passed bound no window any more.
-- The last hour's tell readers of the past when a recent instant is settled.
DELETE FROM sync_tick WHERE id IN (
  SELECT id FROM sync_tick WHERE id < (SELECT min(tick) FROM sync_cursor) AND at < clock_timestamp() - interval '1 hour' ORDER BY id LIMIT :limit
)

-- update_incarnation --
-- Store the incarnation of this database.
UPDATE sync_feed SET incarnation = :incarnation
