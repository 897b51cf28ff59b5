-- list_slot --
-- List the facts that held one slot in any state, the last stored first.
SELECT r.id FROM record r
WHERE r.tenant = :tenant AND r.scope = CAST(:slot_scope AS integer) AND r.sensitivity = CAST(:slot_level AS smallint)
  AND r.slot_key = CAST(:slot AS bytea) AND r.type = 4 AND r.id < CAST(:below AS uuid)
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
ORDER BY r.id DESC LIMIT :most

-- fetch_by_version --
-- Fetch the newest records with a handle and a version that the caller may read in full.
SELECT r.id FROM record r
WHERE r.tenant = :tenant AND r.handle_key = CAST(:handle AS bytea)
  AND (CAST(:version AS bytea) IS NULL OR r.version_key = CAST(:version AS bytea))
  AND (CAST(:at AS timestamptz) IS NULL OR r.created_at <= CAST(:at AS timestamptz))
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
ORDER BY r.created_at DESC, r.id DESC LIMIT :most

-- list_episodes_of_thread --
-- List the episodes of a thread that the caller may read in full, the last opened first.
SELECT e.id, e.opened_at FROM episode e
WHERE e.tenant = :tenant AND e.thread_key = CAST(:thread AS bytea)
  AND (:all_scopes OR e.scope = ANY(CAST(:scopes AS integer[]))) AND e.sensitivity <= :ceiling
  AND e.opened_at <= CAST(:opened_by AS timestamptz)
  AND (e.opened_at, e.id) < (CAST(:opened_at AS timestamptz), CAST(:below AS uuid))
ORDER BY e.opened_at DESC, e.id DESC LIMIT :most

-- list_events_of_episodes --
-- List the events of episodes that the caller may read in full, :most of each, in the reverse order of arrival.
-- Of the first episode, those before :position.
SELECT asked.place, asked.id AS episode, v.position, v.record
FROM unnest(CAST(:episodes AS uuid[])) WITH ORDINALITY AS asked(id, place)
CROSS JOIN LATERAL (
  SELECT v.position, v.record FROM episode_event v
  CROSS JOIN LATERAL (
    SELECT FROM record r WHERE r.tenant = :tenant AND r.id = v.record AND r.created_at <= CAST(:at AS timestamptz)
      AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling LIMIT 1) r
  WHERE v.tenant = :tenant AND v.episode = asked.id AND (asked.place > 1 OR v.position < :position)
  ORDER BY v.position DESC LIMIT :most
) v
ORDER BY asked.place, v.position DESC LIMIT :most

-- list_contested --
-- List the contested records that the caller may read in full, the newest first.
SELECT r.id FROM record r
WHERE r.tenant = :tenant AND r.state = 2 AND r.id < CAST(:below AS uuid)
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
ORDER BY r.id DESC LIMIT :most

-- list_parties --
-- List the parties of the disputes of some records, as far as the caller may see them, at most :most of each.
-- Only records that the caller may read in full lead to others, so that hidden ones join no disputes; episodes and
-- records that are no longer current are parties, but connect no further ones. `since` is when the first contest of a
-- party was made, as far as the caller may see both ends.
WITH contested AS MATERIALIZED (
  SELECT p.id FROM predicate p WHERE p.tenant = :tenant AND p.name = 'contested_by'
)
SELECT asked.id AS asked, m.id, m.is_contested, (
  SELECT min(e.created_at) FROM relation_in_sight e
  WHERE e.tenant = :tenant AND e.source = m.id AND e.ended_at IS NULL AND e.predicate IN (SELECT c.id FROM contested c)
    AND {target_is_seen} AND least(e.source_sensitivity, e.target_sensitivity) <= :ceiling
) AS since
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
  WITH RECURSIVE party(id, leads, is_contested) AS (
    SELECT asked.id, true, true
    UNION
    SELECT n.id, n.leads, n.is_contested FROM party p
    CROSS JOIN LATERAL (
      SELECT e.target AS id, e.target_sensitivity <= :ceiling AND e.target_is_current AS leads
      FROM relation_in_sight e
      WHERE e.tenant = :tenant AND e.source = p.id AND e.ended_at IS NULL
        AND e.predicate IN (SELECT c.id FROM contested c) AND {target_is_seen}
      UNION ALL
      SELECT e.source, e.source_sensitivity <= :ceiling AND e.source_is_current
      FROM relation_in_sight e
      WHERE e.tenant = :tenant AND e.target = p.id AND e.ended_at IS NULL
        AND e.predicate IN (SELECT c.id FROM contested c) AND {source_is_seen}
    ) near
    CROSS JOIN LATERAL (
      SELECT near.id, near.leads AND coalesce((
          SELECT r.type <> 1 FROM record r WHERE r.tenant = :tenant AND r.id = near.id), false) AS leads,
        coalesce((SELECT r.state = 2 FROM record r WHERE r.tenant = :tenant AND r.id = near.id), false) AS is_contested
    ) n
    WHERE p.leads
  )
  SELECT party.id, party.is_contested FROM party LIMIT :most
) m

-- source_is_seen --
-- Fragment: whether the caller may see the source of the relation `e`, in full or redacted.
(:all_scopes OR e.source_scope = ANY(CAST(:scopes AS integer[]))) AND e.source_sensitivity <= :ceiling + 1

-- target_is_seen --
-- Fragment: the same for the target.
(:all_scopes OR e.target_scope = ANY(CAST(:scopes AS integer[]))) AND e.target_sensitivity <= :ceiling + 1

-- list_entities_named --
-- List the entities with a name or alias that the caller may read in full, the oldest first.
SELECT DISTINCT t.entity AS id FROM entity_term t JOIN record r ON r.tenant = t.tenant AND r.id = t.entity
WHERE t.tenant = :tenant AND t.term_key = CAST(:name AS bytea) AND t.kind IN (2, 3) AND t.entity > CAST(:above AS uuid)
  AND (:all_scopes OR (r.scope = ANY(CAST(:scopes AS integer[])) AND t.scope = ANY(CAST(:scopes AS integer[]))))
  AND (CAST(:scope AS integer) IS NULL OR r.scope = CAST(:scope AS integer))
  AND greatest(r.sensitivity, t.sensitivity) <= :ceiling
  AND (CAST(:at AS timestamptz) IS NULL AND r.state <= 2 OR r.created_at <= CAST(:at AS timestamptz))
ORDER BY t.entity LIMIT :most

-- list_relations_of --
-- List the relations of each of the given records that the caller may see, heaviest first, after :weight and :after.
-- The caller must be able to read one end in full and the other at least redacted.
SELECT asked.id AS asked, e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
  SELECT e.* FROM (
    (SELECT e.* FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.source = asked.id AND {is_listed_relation} ORDER BY e.weight DESC, e.id LIMIT :most)
    UNION ALL
    (SELECT e.* FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.target = asked.id AND e.source <> asked.id AND {is_listed_relation}
     ORDER BY e.weight DESC, e.id LIMIT :most)
  ) e
  ORDER BY e.weight DESC, e.id LIMIT :most
) e
ORDER BY asked.id, e.weight DESC, e.id

-- is_listed_relation --
-- Fragment: whether a relation (`e`) is open, comes after :weight and :after, and may be shown to the caller.
e.ended_at IS NULL AND e.weight <= :weight AND (e.weight < :weight OR e.id > CAST(:after AS uuid))
  AND (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
  AND least(e.source_sensitivity, e.target_sensitivity) <= :ceiling
  AND greatest(e.source_sensitivity, e.target_sensitivity) <= :ceiling + 1

-- list_relations_of_at --
-- List the relations that each record had as of its instant, heaviest first, after :weight and :after.
-- The caller must be able to read both ends in full then and now.
SELECT asked.id AS asked, asked.at AS instant, e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM unnest(CAST(:ids AS uuid[]), CAST(:instants AS timestamptz[])) AS asked(id, at)
CROSS JOIN LATERAL (
  SELECT e.* FROM (
    (SELECT e.* FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.source = asked.id AND {was_listed_relation} ORDER BY e.weight DESC, e.id LIMIT :most)
    UNION ALL
    (SELECT e.* FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.target = asked.id AND e.source <> asked.id AND {was_listed_relation}
     ORDER BY e.weight DESC, e.id LIMIT :most)
  ) e
  ORDER BY e.weight DESC, e.id LIMIT :most
) e
ORDER BY asked.id, asked.at, e.weight DESC, e.id

-- was_listed_relation --
-- Fragment: whether a relation (`e`) was open at the instant `asked`, comes after :weight and :after, and may be shown.
e.created_at <= asked.at AND (e.ended_at IS NULL OR e.ended_at > asked.at)
  AND e.weight <= :weight AND (e.weight < :weight OR e.id > CAST(:after AS uuid)) AND 2 - (e.source = e.target)::integer = (
    SELECT count(*) FROM record r
    WHERE r.tenant = :tenant AND r.id IN (e.source, e.target) AND r.created_at <= asked.at
      AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
      AND (r.updated_at <= asked.at OR EXISTS (
        SELECT FROM record_history h
        WHERE h.tenant = r.tenant AND h.id = r.id AND h.from_at <= asked.at AND h.to_at > asked.at
          AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling)))
