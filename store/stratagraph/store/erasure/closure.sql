-- fetch_contesting_events --
-- Fetch the episodic records that contest or contested one of the given records, each with its content.
SELECT r.id, e.source AS contested, r.payload, r.sealed
FROM relation e
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'contested_by'
JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.type = 1
WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.target <> ALL(CAST(:ids AS uuid[]))

-- fetch_deleted_sources --
-- Fetch which of the given records were deleted or erased; a pruned record still supports what was derived from it.
SELECT id FROM tombstone WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND cause <> 1

-- fetch_derived_records --
-- Fetch the records ever derived from the given ones, whatever their state, each with its provenance and the sources
-- that it still has.
WITH kinds AS MATERIALIZED (
  SELECT id FROM predicate WHERE tenant = :tenant AND name = ANY(CAST(:derivations AS text[]))
), derived AS MATERIALIZED (
  SELECT DISTINCT e.target AS id FROM relation e
  WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.predicate IN (SELECT id FROM kinds)
    AND e.target <> ALL(CAST(:known AS uuid[]))
)
SELECT d.id, r.provenance, r.sealed, ARRAY(
  SELECT e.source FROM relation e
  WHERE e.tenant = :tenant AND e.target = d.id AND e.ended_at IS NULL
    AND e.predicate IN (SELECT id FROM kinds)) AS sources
FROM derived d
CROSS JOIN LATERAL (SELECT provenance, sealed FROM record WHERE tenant = :tenant AND id = d.id LIMIT 1) r

-- fetch_learned_records --
-- Fetch the given records, each with its provenance and the sources that it still has.
SELECT r.id, r.provenance, r.sealed, ARRAY(
  SELECT e.source FROM relation e
  WHERE e.tenant = :tenant AND e.target = r.id AND e.ended_at IS NULL AND e.predicate IN (
    SELECT id FROM predicate WHERE tenant = :tenant AND name = ANY(CAST(:derivations AS text[])))) AS sources
FROM record r WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[]))

-- fetch_emptied_episodes --
-- Fetch the episodes whose members are all among the given records.
SELECT v.episode AS id
FROM episode_event v
WHERE v.tenant = :tenant AND v.episode <> ALL(CAST(:ids AS uuid[])) AND v.episode IN (
  SELECT m.episode FROM episode_event m WHERE m.tenant = :tenant AND m.record = ANY(CAST(:ids AS uuid[])))
GROUP BY v.episode
HAVING bool_and(v.record = ANY(CAST(:ids AS uuid[])))

-- fetch_episode_members --
-- Fetch the records that belong to the given episodes.
SELECT record AS id FROM episode_event WHERE tenant = :tenant AND episode = ANY(CAST(:ids AS uuid[]))

-- fetch_episodes_of_members --
-- Fetch the episodes, besides the given records, that one of these belongs to.
SELECT DISTINCT episode AS id FROM episode_event
WHERE tenant = :tenant AND record = ANY(CAST(:ids AS uuid[])) AND episode <> ALL(CAST(:ids AS uuid[]))

-- fetch_orphaned_entities --
-- Fetch the entities that captures of the given records created (is_created) or named, and that nothing else names.
-- An entity that was captured itself is not among them. The conditions are scalar subqueries, so that each is an index
-- look-up whatever the planner's statistics are.
WITH named AS MATERIALIZED (
  SELECT id, bool_or(is_created) AS is_created
  FROM (
    SELECT e.target AS id, false AS is_created FROM relation e
    WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))
    UNION ALL
    SELECT unnest(c.created_records), true FROM candidate c
    WHERE c.tenant = :tenant AND c.record = ANY(CAST(:ids AS uuid[]))
  ) n
  WHERE id <> ALL(CAST(:ids AS uuid[]))
  GROUP BY id
)
SELECT n.id, n.is_created, r.provenance, r.sealed
FROM named n
CROSS JOIN LATERAL (
  SELECT provenance, sealed FROM record WHERE tenant = :tenant AND id = n.id AND type = 3 LIMIT 1
) r
WHERE (SELECT true FROM relation e
    WHERE e.tenant = :tenant AND e.source = n.id AND e.target <> ALL(CAST(:ids AS uuid[])) LIMIT 1) IS NULL
  AND (SELECT true FROM relation e
    WHERE e.tenant = :tenant AND e.target = n.id AND e.source <> ALL(CAST(:ids AS uuid[])) LIMIT 1) IS NULL
  AND (SELECT true FROM candidate c WHERE c.tenant = :tenant AND c.record = n.id LIMIT 1) IS NULL

-- fetch_records_within --
-- Fetch which of the given records are in one of the scopes and at most as sensitive as the ceiling.
SELECT id FROM record
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND sensitivity <= :ceiling
  AND (:all_scopes OR scope = ANY(CAST(:scopes AS integer[])))

-- fetch_related_records --
-- Fetch the other records related to the given ones, and the entities created by the same captures.
WITH near AS MATERIALIZED (
  SELECT e.target AS id FROM relation e WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))
  UNION
  SELECT e.source FROM relation e WHERE e.tenant = :tenant AND e.target = ANY(CAST(:ids AS uuid[]))
  UNION
  SELECT unnest(c.created_records) FROM candidate c WHERE c.tenant = :tenant AND c.record = ANY(CAST(:ids AS uuid[]))
)
SELECT n.id FROM near n
WHERE n.id <> ALL(CAST(:ids AS uuid[]))
  AND (SELECT true FROM record r WHERE r.tenant = :tenant AND r.id = n.id)

-- fetch_remaining_captures --
-- Fetch which of the given captures still exist and did not result in one of the given records.
SELECT id FROM candidate
WHERE tenant = :tenant AND id = ANY(CAST(:captures AS uuid[])) AND (record IS NULL OR record <> ALL(CAST(:ids AS uuid[])))
