-- add_drift --
-- Add the differences found in one bucket to the running scrub.
UPDATE mirror_leader SET drift = drift || (
  SELECT jsonb_object_agg(a.name, a.count + coalesce((drift ->> a.name)::bigint, 0))
  FROM unnest(CAST(:names AS text[]), CAST(:counts AS bigint[])) AS a(name, count))
WHERE mirror = :mirror

-- advance_scrub --
-- Store the position of the running scrub, and count the rows of the page before it.
UPDATE mirror_leader SET checked_kind = :phase, checked_tenant = :tenant, checked_id = :id,
  check_rows = check_rows + :rows
WHERE mirror = :mirror

-- begin_scrub --
-- Store when a scrub begins, unless it has begun.
UPDATE mirror_leader SET check_began_at = coalesce(check_began_at, clock_timestamp()) WHERE mirror = :mirror

-- begin_generation --
-- Insert a generation, with a number higher than any that this database or the mirror itself has seen.
INSERT INTO mirror_generation (mirror, generation, state, incarnation, tenant, reason, total)
SELECT :mirror,
  greatest(:at_least, coalesce((SELECT max(generation) FROM mirror_generation WHERE mirror = :mirror), 0)) + 1,
  :state, :incarnation, :tenant, :reason, :total
RETURNING generation

-- begin_rewind --
-- Keep the mirror from answering until it has all changes that the newest snapshot sees.
UPDATE mirror_generation g SET state = 'rewinding', rewound_at = clock_timestamp(),
  rewound_until = (SELECT max(id) FROM sync_snapshot), rewound_changes = :changes
WHERE mirror = :mirror AND generation = :generation AND tenant IS NULL AND state IN ('active', 'rewinding')
  AND NOT EXISTS (
    SELECT FROM mirror_generation n
    WHERE n.mirror = g.mirror AND n.generation > g.generation AND n.state IN ('building', 'refreshing'))
RETURNING generation

-- complete_generation --
-- Mark a generation as active and retire the older ones of the same extent.
WITH done AS (
  UPDATE mirror_generation SET state = 'active', completed_at = clock_timestamp()
  WHERE mirror = :mirror AND generation = :generation AND state <> 'retired' RETURNING tenant
)
UPDATE mirror_generation g SET state = 'retired' FROM done
WHERE g.mirror = :mirror AND g.generation < :generation AND g.state <> 'retired'
  AND (done.tenant IS NULL OR g.tenant = done.tenant)

-- delete_dead_letters --
-- Delete the dead letters of the given changes.
DELETE FROM sync_dead_letter d
USING unnest(CAST(:tenants AS bigint[]), CAST(:kinds AS smallint[]), CAST(:ids AS uuid[])) AS a(tenant, kind, id)
WHERE d.consumer = :consumer AND d.tenant = a.tenant AND d.kind = a.kind AND d.id = a.id
RETURNING d.id

-- drop_dead_letters --
-- Delete the dead letters with the given ids, or all of a consumer.
DELETE FROM sync_dead_letter WHERE consumer = :consumer AND (:everything OR id = ANY(CAST(:ids AS uuid[]))) RETURNING id

-- end_rewind --
-- Let a rewound mirror answer once every cursor has passed the snapshot that was the newest when it was rewound.
UPDATE mirror_generation SET state = 'active'
WHERE mirror = :mirror AND state = 'rewinding'
  AND rewound_until <= (SELECT min(snapshot) FROM sync_cursor WHERE consumer = :mirror)
RETURNING generation, rewound_changes AS changes,
  extract(epoch FROM clock_timestamp() - rewound_at)::float8 AS seconds

-- mirrored_events --
-- Fragment: what the mirror shows of the payload of an episodic record `r`.
-- The kinds of its first two events, the tools that it called, and its outcome.
jsonb_build_object('event_kinds', jsonb_path_query_array(r.payload, '$.timeline[0 to 1].event_kind'),
  'tools', jsonb_path_query_array(r.payload, '$.tool_graph[*].tool'), 'outcome', r.payload -> 'outcome')

-- estimate_rows --
-- Estimate how many records and relations there are, from the planner's statistics.
SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint AS rows FROM pg_class
WHERE oid IN ('record'::regclass, 'relation'::regclass)

-- existing_records --
-- Find which of the given records exist.
SELECT r.tenant, r.id, 0 AS predicate
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS asked(tenant, id)
JOIN record r ON r.tenant = asked.tenant AND r.id = asked.id

-- existing_relations --
-- Find which of the given relations exist and have not ended.
SELECT e.tenant, e.id, e.predicate
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS asked(tenant, id)
JOIN relation e ON e.tenant = asked.tenant AND e.id = asked.id AND e.ended_at IS NULL

-- fetch_due_dead_letters --
-- Fetch the dead letters whose next attempt is due.
SELECT tenant, kind, id, version FROM sync_dead_letter
WHERE consumer = :consumer AND next_try <= clock_timestamp() ORDER BY next_try LIMIT :limit

-- finish_scrub --
-- Record the result of a finished scrub and begin the next one.
UPDATE mirror_leader SET checked_kind = 0, checked_tenant = 0, checked_id = NULL, check_began_at = NULL, check_rows = 0,
  last_check_began_at = check_began_at, last_check_rows = check_rows + :rows,
  last_checked_at = clock_timestamp(), last_drift = drift, drift = '{}',
  damaged_at = CASE WHEN drift = '{}' AND damaged_at < check_began_at THEN NULL ELSE damaged_at END,
  needs_scrub = needs_scrub AND NOT (drift = '{}' AND damaged_at < check_began_at)
WHERE mirror = :mirror

-- generations_of --
-- Fetch the newest generation of the whole mirror and that of each tenant which has had one of its own.
SELECT tenant, max(generation) AS generation FROM mirror_generation WHERE mirror = :mirror GROUP BY tenant

-- is_damaged --
-- Fragment: whether it is known that the mirror differs from Postgres, beyond the changes that it has not applied.
-- That is so from the moment when differences are found until the workers have applied the repairs, which they have
-- also if nothing in the log is left to apply; and, where much was found, until a complete scrub finds nothing.
EXISTS (
  SELECT FROM mirror_leader d LEFT JOIN applied ON true
  WHERE d.mirror = :consumer AND d.damaged_at IS NOT NULL
    AND (d.needs_scrub OR d.repaired_by IS NULL
      OR NOT coalesce(pg_visible_in_snapshot(d.repaired_by, applied.snap), false) AND {feed_age} > 0))

-- lease_leader --
-- Acquire or extend the lease of a mirror's leader.
-- Returns no row while another worker leads. A lease that ends later than any lease can was stored before the server's
-- clock was set back.
INSERT INTO mirror_leader AS l (mirror, owner, epoch, lease_until)
VALUES (:mirror, :owner, 1, clock_timestamp() + make_interval(secs => :lease_s))
ON CONFLICT (mirror) DO UPDATE
SET owner = excluded.owner, lease_until = excluded.lease_until,
  epoch = l.epoch + CASE WHEN l.owner = excluded.owner THEN 0 ELSE 1 END
WHERE l.owner = excluded.owner OR l.lease_until < clock_timestamp()
  OR l.lease_until > clock_timestamp() + make_interval(secs => 2 * :lease_s)
RETURNING l.epoch

-- list_dead_letters --
-- List the dead letters of a consumer, ordered by their next attempt.
SELECT tenant, kind, id, version, error, tries, next_try FROM sync_dead_letter
WHERE consumer = :consumer ORDER BY next_try LIMIT :limit

-- list_nodes --
-- List the versions and digests of a bucket's records.
-- Without :upto, which is so for a tenant's last bucket, it has no end.
SELECT r.id, r.row_version AS version, {node_digest} AS digest FROM record r
WHERE r.tenant = :tenant AND r.id > CAST(:after AS uuid)
  AND (CAST(:upto AS uuid) IS NULL OR r.id <= CAST(:upto AS uuid))
ORDER BY r.id

-- list_relations --
-- List the versions and digests of a bucket's live relations.
-- Without :upto, which is so for a tenant's last bucket, it has no end.
SELECT e.id, e.row_version AS version, {relation_digest} AS digest FROM relation e
WHERE e.tenant = :tenant AND e.id > CAST(:after AS uuid)
  AND (CAST(:upto AS uuid) IS NULL OR e.id <= CAST(:upto AS uuid))
  AND e.ended_at IS NULL
ORDER BY e.id

-- mirror_counts --
-- Count the records and the live relations that the mirror should show, of one tenant or of all.
SELECT
  (SELECT count(*) FROM record WHERE CAST(:tenant AS bigint) IS NULL OR tenant = :tenant) AS records,
  (SELECT count(*) FROM relation
   WHERE ended_at IS NULL AND (CAST(:tenant AS bigint) IS NULL OR tenant = :tenant)) AS relations

-- mirror_freshness --
-- Measure how far a mirror is behind for a tenant, and whether it shows the truth.
-- A mirror is the consumer of the same name.
WITH {feed_position}, newest AS (
  SELECT generation, state FROM mirror_generation
  WHERE mirror = :consumer AND (tenant IS NULL OR tenant = :tenant) AND (tenant IS NULL OR state = 'building')
  ORDER BY generation DESC LIMIT 1
)
SELECT oldest.snapshot, {feed_age} AS seconds, newest.generation,
  newest.state IN ('active', 'refreshing')
    AND NOT EXISTS (SELECT FROM mirror_generation WHERE mirror = :consumer AND state = 'rewinding') AS whole,
  EXISTS (SELECT FROM sync_dead_letter WHERE consumer = :consumer AND tenant = :tenant) AS refused,
  {is_damaged} AS damaged
FROM oldest, newest

-- count_unread --
-- Count the changes that a consumer's cursors have not read, up to :most. Each cursor reads the shard of its number.
SELECT count(*) AS changes FROM (
  SELECT 1 FROM sync_cursor c JOIN sync_snapshot s ON s.id = c.snapshot
  JOIN sync_log l ON l.shard = c.shard
    AND (l.xid >= pg_snapshot_xmax(s.snap) OR l.xid = ANY (ARRAY(SELECT pg_snapshot_xip(s.snap))))
  WHERE c.consumer = :consumer LIMIT :most) unread

-- mirror_nodes --
-- Fetch what the mirror shows of the given records.
SELECT {node_columns}
FROM record r
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS asked(tenant, id)
  ON r.tenant = asked.tenant AND r.id = asked.id

-- mirror_relations --
-- Fetch what the mirror shows of the given relations.
SELECT {relation_columns}
FROM relation e
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS asked(tenant, id)
  ON e.tenant = asked.tenant AND e.id = asked.id

-- mirror_is_damaged --
-- Return whether it is known that the mirror differs from Postgres, beyond the changes that it has not applied.
WITH {feed_position} SELECT {is_damaged} AS damaged

-- newest_generation --
-- Fetch the newest generation of the whole mirror.
SELECT generation, state, reason, done, total, started_at, completed_at, rewound_at, rewound_changes
FROM mirror_generation
WHERE mirror = :mirror AND tenant IS NULL ORDER BY generation DESC LIMIT 1

-- next_mirrored_tenant --
-- Find the next tenant that has any row to show.
SELECT min(tenant) AS tenant FROM (
  (SELECT tenant FROM record WHERE tenant > :after ORDER BY tenant LIMIT 1)
  UNION ALL
  (SELECT tenant FROM relation WHERE tenant > :after ORDER BY tenant LIMIT 1)
) next

-- note_damage --
-- Note that differences were found: :count more in the running scrub, of which :most may be repaired without a complete
-- scrub before the mirror answers again.
UPDATE mirror_leader SET damaged_at = clock_timestamp(), repaired_by = NULL,
  needs_scrub = needs_scrub OR :most < :count + (SELECT coalesce(sum(value::bigint), 0) FROM jsonb_each_text(drift))
WHERE mirror = :mirror

-- note_no_damage --
-- Note that a comparison of everything, which began at :began_at, found no difference.
UPDATE mirror_leader SET damaged_at = NULL, needs_scrub = false WHERE mirror = :mirror AND damaged_at < :began_at

-- note_repairs --
-- Note that the repairs of all that was found are in the change log.
UPDATE mirror_leader SET repaired_by = pg_current_xact_id() WHERE mirror = :mirror AND damaged_at IS NOT NULL

-- node_columns --
-- Fragment: what the mirror shows of a record `r`: no text, and of payloads only plan steps, entity types and the tool
-- that an entity is, the kinds of events and the tools called. A sealed record has no name and no payload.
-- `digest` covers all that the mirror shows, so that the stores can be compared by sums. It has 32 bits: a sum of
-- greater numbers would overflow in Cypher.
r.tenant, r.id, r.type, r.scope, r.sensitivity, r.state, r.name, r.row_version, r.created_at, r.occurred_at,
(extract(epoch FROM lower(r.validity)) * 1000000)::bigint AS valid_from,
(extract(epoch FROM upper(r.validity)) * 1000000)::bigint AS valid_to,
CASE WHEN r.payload IS NULL THEN NULL WHEN r.type = 6 THEN r.payload
  WHEN r.type = 3 THEN jsonb_build_object('primary_type', r.payload -> 'primary_type', 'types', r.payload -> 'types',
    'tool', jsonb_path_query_first(r.payload, '$.identifiers[*] ? (@.namespace == "tool").value'))
  WHEN r.type = 1 THEN {mirrored_events}
END AS payload,
{node_digest} AS digest

-- node_digest --
-- Fragment: a 32-bit digest of all that the mirror shows of a record `r`.
('x' || left(encode(sha256(convert_to(concat_ws('|', r.id, r.type, r.scope, r.sensitivity, r.state, r.row_version,
  extract(epoch FROM r.created_at), extract(epoch FROM r.occurred_at),
  CASE WHEN r.sensitivity <= :names_up_to THEN r.name END,
  CASE WHEN r.sensitivity <= :names_up_to AND r.type IN (3, 6) THEN r.payload::text END,
  CASE WHEN r.sensitivity <= :names_up_to AND r.type = 1 AND r.payload IS NOT NULL THEN {mirrored_events}::text END,
  CASE WHEN r.type = 4 AND NOT (lower_inf(r.validity) AND upper_inf(r.validity))
    THEN concat('valid ', extract(epoch FROM lower(r.validity)), ' ', extract(epoch FROM upper(r.validity))) END
), 'UTF8')), 'hex'), 8))::bit(32)::bigint

-- read_scrub --
-- Fetch the position and the findings of the running scrub, and the result of the last one.
SELECT checked_kind, checked_tenant, checked_id, check_began_at, check_rows, drift,
  last_check_began_at, last_checked_at, last_check_rows, last_drift
FROM mirror_leader WHERE mirror = :mirror

-- read_mirror_status --
-- Read how long ago the mirror was followed and maintained, how many of its workers are live, and its newest state.
-- The consumer has the name of the mirror.
WITH {feed_position}
SELECT
  {is_damaged} AS is_damaged,
  (SELECT extract(epoch FROM clock_timestamp() - max(followed_at)) FROM sync_worker
   WHERE consumer = :mirror)::float8 AS followed_s,
  (SELECT extract(epoch FROM clock_timestamp() - maintained_at) FROM mirror_leader
   WHERE mirror = :mirror)::float8 AS maintained_s,
  (SELECT extract(epoch FROM clock_timestamp() - last_checked_at) FROM mirror_leader
   WHERE mirror = :mirror)::float8 AS checked_s,
  (SELECT extract(epoch FROM last_checked_at - last_check_began_at) FROM mirror_leader
   WHERE mirror = :mirror)::float8 AS check_took_s,
  (SELECT last_drift FROM mirror_leader WHERE mirror = :mirror) AS drift,
  (SELECT count(*) FROM sync_worker WHERE consumer = :mirror AND alive_until >= clock_timestamp()) AS live_workers,
  (SELECT state FROM mirror_generation WHERE mirror = :mirror AND tenant IS NULL
   ORDER BY generation DESC LIMIT 1) IN ('building', 'rewinding') AS is_building

-- record_maintenance --
-- Record that the leader has completed a pass of maintenance, or a page of a rebuild.
UPDATE mirror_leader SET maintained_at = clock_timestamp() WHERE mirror = :mirror AND owner = :owner

-- relation_columns --
-- Fragment: what the mirror shows of a relation `e`. The ends are text, as the mirror stores them.
e.tenant, e.id, e.source::text AS source, e.target::text AS target, e.predicate, e.weight, e.created_at, e.ended_at,
e.row_version,
{relation_digest} AS digest

-- relation_digest --
-- Fragment: a 32-bit digest of all that the mirror shows of a relation `e`.
('x' || left(encode(sha256(convert_to(concat_ws('|', e.id, e.source, e.target, e.predicate, e.weight, e.row_version,
  extract(epoch FROM e.created_at)), 'UTF8')), 'hex'), 8))::bit(32)::bigint

-- release_leader --
-- Release the leader's lease on a mirror.
UPDATE mirror_leader SET lease_until = '-infinity', owner = NULL WHERE mirror = :mirror AND owner = :owner

-- restart_cursors --
-- Move all cursors of a consumer to the newest snapshot and end their leases.
UPDATE sync_cursor SET snapshot = newest.id, window_snapshot = NULL, window_seq = 0, owner = NULL, epoch = epoch + 1,
  lease_until = '-infinity'
FROM (SELECT id, nonce FROM sync_snapshot ORDER BY id DESC LIMIT 1) newest
WHERE consumer = :consumer
RETURNING newest.id, newest.nonce

-- retry_dead_letters --
-- Make dead letters due at once.
UPDATE sync_dead_letter SET next_try = clock_timestamp()
WHERE consumer = :consumer AND (:everything OR id = ANY(CAST(:ids AS uuid[]))) RETURNING id

-- rewind_cursors --
-- Move cursors back to the given snapshots, to read what each does not see again, and end their leases.
UPDATE sync_cursor c
SET snapshot = back.snapshot, window_snapshot = NULL, window_seq = 0, owner = NULL, epoch = c.epoch + 1,
  lease_until = '-infinity'
FROM unnest(CAST(:cursors AS smallint[]), CAST(:snapshots AS bigint[])) AS back(shard, snapshot)
WHERE c.consumer = :consumer AND c.shard = back.shard AND c.snapshot >= back.snapshot
RETURNING c.shard

-- rows_of_generation --
-- Fetch how many rows were written under a generation.
SELECT done FROM mirror_generation WHERE mirror = :mirror AND generation = :generation

-- scan_nodes --
-- Fetch the next records in key order, of one tenant or of all, for a rebuild.
SELECT {node_columns}
FROM record r
WHERE (r.tenant, r.id) > (:tenant, CAST(:id AS uuid)) AND r.tenant <= :last_tenant
ORDER BY r.tenant, r.id LIMIT :page

-- scan_relations --
-- Fetch the next live relations in key order, of one tenant or of all, for a rebuild.
SELECT {relation_columns}
FROM relation e
WHERE (e.tenant, e.id) > (:tenant, CAST(:id AS uuid)) AND e.tenant <= :last_tenant AND e.ended_at IS NULL
ORDER BY e.tenant, e.id LIMIT :page

-- sum_nodes --
-- Sum up a bucket: the next :size records of a tenant in key order.
WITH bucket AS (
  SELECT r.id, r.row_version, {node_digest} AS digest FROM record r
  WHERE r.tenant = :tenant AND r.id > CAST(:after AS uuid) ORDER BY r.id LIMIT :size
)
SELECT count(*) AS count, coalesce(sum(row_version), 0)::bigint AS versions,
  coalesce(sum(digest), 0)::bigint AS digests, (SELECT id FROM bucket ORDER BY id DESC LIMIT 1) AS last
FROM bucket

-- sum_relations --
-- Sum up a bucket: the next :size live relations of a tenant in key order.
WITH bucket AS (
  SELECT e.id, e.row_version, {relation_digest} AS digest FROM relation e
  WHERE e.tenant = :tenant AND e.id > CAST(:after AS uuid) AND e.ended_at IS NULL ORDER BY e.id LIMIT :size
)
SELECT count(*) AS count, coalesce(sum(row_version), 0)::bigint AS versions,
  coalesce(sum(digest), 0)::bigint AS digests, (SELECT id FROM bucket ORDER BY id DESC LIMIT 1) AS last
FROM bucket

-- unfinished_generations --
-- List the generations that have begun and are not complete, oldest first.
-- A newer generation of the whole mirror supersedes every older one, a tenant's only its own.
SELECT generation, tenant, state, reason, done, total FROM mirror_generation g
WHERE mirror = :mirror AND state IN ('building', 'refreshing')
  AND NOT EXISTS (
    SELECT FROM mirror_generation n WHERE n.mirror = g.mirror AND n.generation > g.generation
      AND (n.tenant IS NULL OR n.tenant = g.tenant))
ORDER BY generation

-- update_progress --
-- Store how many rows of a generation have been written.
UPDATE mirror_generation SET done = :done WHERE mirror = :mirror AND generation = :generation

-- upsert_dead_letter --
-- Store a change that the mirror refused; the pause before the next attempt doubles up to one hour.
INSERT INTO sync_dead_letter AS d (consumer, tenant, kind, id, version, error, tries, next_try)
VALUES (:consumer, :tenant, :kind, :id, :version, :error, 1, clock_timestamp() + interval '10 s')
ON CONFLICT (consumer, tenant, kind, id) DO UPDATE SET version = excluded.version, error = excluded.error,
  tries = d.tries + 1, next_try = clock_timestamp() + least(interval '1 h', interval '10 s' * power(2, d.tries))
