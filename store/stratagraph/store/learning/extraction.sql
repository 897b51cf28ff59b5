-- claim_extraction --
-- Lease the episode that has waited longest to be read, below the level :below, of no tenant of :spent.
-- Of those that have waited equally long, the one with the lowest key.
UPDATE extraction x SET owner = :owner, lease_until = clock_timestamp() + make_interval(secs => :lease_s),
  attempts = x.attempts + 1
FROM (
  SELECT q.tenant, q.episode FROM extraction q JOIN record r ON r.tenant = q.tenant AND r.id = q.episode
  WHERE {claimable} AND q.tenant <> ALL(CAST(:spent AS bigint[]))
  ORDER BY q.next_try_at, q.queued_at, q.tenant, q.episode LIMIT 1 FOR UPDATE OF q SKIP LOCKED
) due
WHERE x.tenant = due.tenant AND x.episode = due.episode
RETURNING x.tenant, x.episode, x.scope, x.sensitivity, x.part, x.attempts

-- claimable --
-- The condition that the queued episode `q`, with its record `r`, may be leased at :now.
q.state = 1 AND q.next_try_at <= :now AND q.lease_until < clock_timestamp()
  AND r.sensitivity < :below AND r.sensitivity = q.sensitivity AND r.sealed IS NULL

-- count_extractions --
-- Count the episodes that `claim_extraction` would lease, up to :most.
SELECT count(*) AS n FROM (
  SELECT FROM extraction q JOIN record r ON r.tenant = q.tenant AND r.id = q.episode
  WHERE {claimable} LIMIT :most) q

-- fetch_extracted_episode --
-- Fetch what learning knows of an episode that is to be read.
SELECT e.id, e.closed_at, e.outcome FROM episode e WHERE e.tenant = :tenant AND e.id = :id AND e.closed_at IS NOT NULL

-- find_stated_slots --
-- Find the slots in which a current fact has a source that is none of :author's.
SELECT DISTINCT s.slot_key
FROM unnest(CAST(:slots AS bytea[])) AS s(slot_key)
JOIN record r ON r.tenant = :tenant AND r.scope = :scope AND r.sensitivity = :sensitivity AND r.slot_key = s.slot_key
WHERE ((r.state = 1 AND r.single_valued) OR (r.state = 2 AND r.type = 4))
  AND NOT coalesce((
    SELECT bool_and(source ->> 'created_by' = :author)
    FROM jsonb_array_elements(r.provenance -> 'sources') AS source), false)

-- finish_extraction_part --
-- Note that a leased part has been read; with :is_last the whole episode has.
UPDATE extraction SET part = part + 1, attempts = 0, state = CASE WHEN :is_last THEN 2 ELSE 1 END,
  lease_until = '-infinity'
WHERE tenant = :tenant AND episode = :episode AND owner = :owner AND part = :part AND state = 1
RETURNING part

-- hold_sources --
-- Hold those of the given records that are in a group and below the level :below, so that none of them is deleted.
SELECT id FROM record
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND scope = :scope AND sensitivity = :sensitivity
  AND sensitivity < :below AND sealed IS NULL
ORDER BY id FOR KEY SHARE

-- postpone_extraction --
-- Give a leased episode back, to be read at :until or later, with :attempts counted.
UPDATE extraction SET next_try_at = :until, lease_until = '-infinity', attempts = :attempts
WHERE tenant = :tenant AND episode = :episode AND owner = :owner AND state = 1

-- queue_extraction --
-- Queue episodes to be read, each once ever.
INSERT INTO extraction (tenant, episode, scope, sensitivity, state, part, attempts, queued_at, next_try_at)
SELECT :tenant, id, :scope, :sensitivity, 1, 0, 0, :at, :at FROM unnest(CAST(:ids AS uuid[])) AS id
ON CONFLICT (tenant, episode) DO NOTHING

-- still_sendable --
-- Count those of the given records that are in a group and below the level :below.
SELECT count(*) AS n FROM record
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND scope = :scope AND sensitivity = :sensitivity
  AND sensitivity < :below AND sealed IS NULL
