-- claim_texts --
-- Lease the text that has waited longest, or with :newest shortest, is due at :due, and is of no tenant of :spent.
-- With :newest it was queued since :since. With it the other texts of its episode are leased that may be read now, at
-- most :most, of about :characters together.
-- A text that failed with others, or over which a process died, is leased alone.
WITH oldest AS (
  SELECT x.*, length(r.text) AS size FROM extraction x JOIN record r ON r.tenant = x.tenant AND r.id = x.record
  WHERE NOT :newest AND {claimable} AND x.next_try_at <= :due AND x.tenant <> ALL(CAST(:spent AS bigint[]))
  ORDER BY x.next_try_at, x.queued_at, x.tenant, x.record LIMIT 1 FOR UPDATE OF x SKIP LOCKED
), newest AS (
  SELECT x.*, length(r.text) AS size FROM extraction x JOIN record r ON r.tenant = x.tenant AND r.id = x.record
  WHERE :newest AND x.queued_at >= :since AND x.next_try_at >= :since AND {claimable} AND x.next_try_at <= :due
    AND x.tenant <> ALL(CAST(:spent AS bigint[]))
  ORDER BY x.next_try_at DESC, x.queued_at DESC LIMIT 1 FOR UPDATE OF x SKIP LOCKED
), head AS (
  SELECT * FROM oldest UNION ALL SELECT * FROM newest
), near AS (
  SELECT x.*, length(r.text) AS size FROM head h
  JOIN extraction x ON x.tenant = h.tenant AND x.episode = h.episode AND x.scope = h.scope
    AND x.sensitivity = h.sensitivity AND x.record <> h.record
  JOIN record r ON r.tenant = x.tenant AND r.id = x.record
  WHERE {claimable} AND NOT h.is_alone AND h.part = 0 AND h.lease_until = '-infinity'
    AND NOT x.is_alone AND x.part = 0 AND x.lease_until = '-infinity'
  ORDER BY x.record LIMIT :most FOR UPDATE OF x SKIP LOCKED
), sized AS (
  SELECT c.*, sum(c.size) OVER (ORDER BY c.record) - c.size AS before
  FROM (SELECT * FROM head UNION ALL SELECT * FROM near) c
)
UPDATE extraction x SET owner = :owner, lease_until = clock_timestamp() + make_interval(secs => :lease_s),
  attempts = x.attempts + 1
FROM sized s
WHERE x.tenant = s.tenant AND x.record = s.record AND s.before < :characters
RETURNING x.tenant, x.record, x.episode, x.scope, x.sensitivity, x.part, x.attempts,
  s.lease_until > '-infinity' AS has_died

-- claimable --
-- The condition that the queued text `x`, in the record `r`, may be leased at :now.
x.state <> 2 AND x.next_try_at <= :now AND x.lease_until < clock_timestamp()
  AND r.sensitivity < :below AND r.sensitivity = x.sensitivity AND r.sealed IS NULL

-- count_extractions --
-- Count the texts that `claim_texts` could lease, up to :most.
SELECT count(*) AS n FROM (
  SELECT FROM extraction x JOIN record r ON r.tenant = x.tenant AND r.id = x.record
  WHERE {claimable} LIMIT :most) q

-- fetch_interpretations --
-- Fetch how far the reading of records has come, of those that the caller may read in full.
SELECT x.record, x.state, x.attempts, x.next_try_at
FROM extraction x JOIN record r ON r.tenant = x.tenant AND r.id = x.record
WHERE x.tenant = :tenant AND x.record = ANY(CAST(:ids AS uuid[]))
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling

-- fetch_texts --
-- Fetch records of a group whose texts are to be read, with up to :most records of their episode that came before them.
WITH claimed AS (
  SELECT min(position) AS position FROM episode_event
  WHERE tenant = :tenant AND episode = :episode AND record = ANY(CAST(:ids AS uuid[]))
), earlier AS (
  SELECT v.record, v.position FROM claimed c
  JOIN episode_event v ON v.tenant = :tenant AND v.episode = :episode AND v.position < c.position
  JOIN record r ON r.tenant = v.tenant AND r.id = v.record AND length(r.text) <= :longest
  ORDER BY v.position DESC LIMIT :most
)
SELECT r.id, r.occurred_at, r.payload, e.record IS NULL AS is_new
FROM record r LEFT JOIN earlier e ON e.record = r.id
WHERE r.tenant = :tenant AND r.scope = :scope AND r.sensitivity = :sensitivity AND r.sensitivity < :below
  AND r.sealed IS NULL AND (e.record IS NOT NULL OR r.id = ANY(CAST(:ids AS uuid[])))
ORDER BY e.position, r.id

-- find_stated_slots --
-- Find the slots in which a current fact has a source that is none of :author's.
SELECT DISTINCT s.slot_key
FROM unnest(CAST(:slots AS bytea[])) AS s(slot_key)
JOIN record r ON r.tenant = :tenant AND r.scope = :scope AND r.sensitivity = :sensitivity AND r.slot_key = s.slot_key
WHERE ((r.state = 1 AND r.single_valued) OR (r.state = 2 AND r.type = 4))
  AND NOT coalesce((
    SELECT bool_and(source ->> 'created_by' = :author)
    FROM jsonb_array_elements(r.provenance -> 'sources') AS source), false)

-- finish_texts --
-- Note that the leased texts have been read; without :is_last, one part of a long one has.
UPDATE extraction SET part = part + 1, attempts = CASE WHEN :is_last THEN attempts ELSE 0 END,
  state = CASE WHEN :is_last THEN 2 ELSE 1 END, lease_until = '-infinity'
WHERE tenant = :tenant AND record = ANY(CAST(:ids AS uuid[])) AND owner = :owner AND part = :part AND state <> 2
  AND lease_until > '-infinity'
RETURNING record

-- hold_sources --
-- Hold those of the given records that are in a group and below the level :below, so that none of them is deleted.
SELECT id FROM record
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND scope = :scope AND sensitivity = :sensitivity
  AND sensitivity < :below AND sealed IS NULL
ORDER BY id FOR KEY SHARE

-- queue_texts --
-- Queue the texts of records to be read, each once ever, unless they are sealed or not below the level :below.
INSERT INTO extraction
  (tenant, record, episode, scope, sensitivity, state, part, attempts, is_alone, queued_at, next_try_at)
SELECT r.tenant, r.id, coalesce(v.episode, r.id), r.scope, r.sensitivity, 1, 0, 0, false, :at, :at
FROM record r LEFT JOIN episode_event v ON v.tenant = r.tenant AND v.record = r.id
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[])) AND r.sensitivity < :below AND r.sealed IS NULL
ON CONFLICT (tenant, record) DO NOTHING

-- release_texts --
-- Give leased texts back as they were, because others are read first.
UPDATE extraction SET lease_until = '-infinity', attempts = greatest(attempts - 1, 0)
WHERE tenant = :tenant AND record = ANY(CAST(:ids AS uuid[])) AND owner = :owner AND state <> 2
  AND lease_until > '-infinity'

-- return_texts --
-- Give leased texts back, to be read at :until or later; the attempt counts if it failed.
UPDATE extraction SET next_try_at = :until, lease_until = '-infinity',
  attempts = CASE WHEN :has_failed THEN attempts ELSE greatest(attempts - 1, 0) END,
  is_alone = is_alone OR :is_alone,
  state = CASE WHEN :is_set_aside THEN 3 ELSE 1 END
WHERE tenant = :tenant AND record = ANY(CAST(:ids AS uuid[])) AND owner = :owner AND state <> 2
  AND lease_until > '-infinity'

-- still_sendable --
-- Count those of the given records that are in a group and below the level :below.
SELECT count(*) AS n FROM record
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND scope = :scope AND sensitivity = :sensitivity
  AND sensitivity < :below AND sealed IS NULL
