-- count_degrees --
-- Count for each record its relations to other current records that the caller may read in full, up to :most.
-- A fact is current while its validity includes the instant :at; so in every statement of this file. Per record and
-- direction, at most :scan relations to readable records are read.
SELECT near.id, (
  SELECT count(*) FROM (
    (SELECT e.id FROM (
       SELECT e.id, e.target_is_current AND coalesce(e.target_validity @> CAST(:at AS timestamptz), true) AS holds
       FROM relation_in_sight e
       WHERE e.tenant = :tenant AND e.source = near.id AND e.target <> near.id AND e.ended_at IS NULL AND NOT e.target_past
         AND {target_may_be_read} AND {target_may_hold}
         AND (:all_scopes OR e.target_scope = ANY(CAST(:scopes AS integer[]))) AND e.target_sensitivity <= :ceiling
       ORDER BY e.weight DESC, e.id LIMIT :scan) e WHERE e.holds LIMIT :most)
    UNION ALL
    (SELECT e.id FROM (
       SELECT e.id, e.source_is_current AND coalesce(e.source_validity @> CAST(:at AS timestamptz), true) AS holds
       FROM relation_in_sight e
       WHERE e.tenant = :tenant AND e.target = near.id AND e.source <> near.id AND e.ended_at IS NULL AND NOT e.source_past
         AND {source_may_be_read} AND {source_may_hold}
         AND (:all_scopes OR e.source_scope = ANY(CAST(:scopes AS integer[]))) AND e.source_sensitivity <= :ceiling
       ORDER BY e.weight DESC, e.id LIMIT :scan) e WHERE e.holds LIMIT :most)
    LIMIT :most
  ) e
) AS degree
FROM unnest(CAST(:ids AS uuid[])) AS near(id)

-- edges_of --
-- Fetch the heaviest edges of each frontier record, per direction, whose far end is visible (in full or redacted).
-- Edges to redacted records are read only where those to records in full are fewer than :fan_out, and then fill the
-- rest: a LIMIT of 0 reads nothing. With :history, far ends that are not current are included. Those in full hold at :at,
-- redacted ones at :now: asked for at many instants, they would tell their validity.
-- Prepared: each record of the frontier is a look-up in the same indexes.
SELECT near.id AS near, e.id, e.far, e.weight, e.acl, e.predicate, e.created_at, e.outgoing
FROM unnest((SELECT CAST(:frontier AS uuid[]))) AS near(id)
CROSS JOIN LATERAL (
  (WITH in_full AS MATERIALIZED (
     SELECT e.id, e.target AS far, e.weight, e.target_scope * 8 + e.target_sensitivity AS acl, e.predicate, e.created_at, true AS outgoing
     FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.source = near.id AND e.ended_at IS NULL
       AND (:all_scopes OR e.target_scope = ANY(CAST(:scopes AS integer[]))) AND e.target_sensitivity <= :ceiling
       AND {target_may_be_seen} AND (:history OR NOT e.target_past AND {target_may_hold}) AND (:history OR e.target_is_current AND coalesce(e.target_validity @> CAST(:at AS timestamptz), true))
     ORDER BY e.weight DESC, e.id LIMIT :fan_out)
   SELECT * FROM in_full
   UNION ALL
   (SELECT e.id, e.target, e.weight, e.target_scope * 8 + e.target_sensitivity, e.predicate, e.created_at, true
    FROM relation_in_sight e
    WHERE e.tenant = :tenant AND e.source = near.id AND e.ended_at IS NULL
      AND (:all_scopes OR e.target_scope = ANY(CAST(:scopes AS integer[]))) AND e.target_sensitivity = :ceiling + 1
      AND {target_may_be_seen} AND (:history OR NOT e.target_past AND (e.target_until IS NULL OR e.target_until > CAST(:now AS timestamptz)))
      AND (:history OR e.target_is_current AND coalesce(e.target_validity @> CAST(:now AS timestamptz), true))
    ORDER BY e.weight DESC, e.id LIMIT :fan_out - (SELECT count(*) FROM in_full)))
  UNION ALL
  (WITH in_full AS MATERIALIZED (
     SELECT e.id, e.source AS far, e.weight, e.source_scope * 8 + e.source_sensitivity AS acl, e.predicate, e.created_at, false AS outgoing
     FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.target = near.id AND e.ended_at IS NULL
       AND (:all_scopes OR e.source_scope = ANY(CAST(:scopes AS integer[]))) AND e.source_sensitivity <= :ceiling
       AND {source_may_be_seen} AND (:history OR NOT e.source_past AND {source_may_hold}) AND (:history OR e.source_is_current AND coalesce(e.source_validity @> CAST(:at AS timestamptz), true))
     ORDER BY e.weight DESC, e.id LIMIT :fan_out)
   SELECT * FROM in_full
   UNION ALL
   (SELECT e.id, e.source, e.weight, e.source_scope * 8 + e.source_sensitivity, e.predicate, e.created_at, false
    FROM relation_in_sight e
    WHERE e.tenant = :tenant AND e.target = near.id AND e.ended_at IS NULL
      AND (:all_scopes OR e.source_scope = ANY(CAST(:scopes AS integer[]))) AND e.source_sensitivity = :ceiling + 1
      AND {source_may_be_seen} AND (:history OR NOT e.source_past AND (e.source_until IS NULL OR e.source_until > CAST(:now AS timestamptz)))
      AND (:history OR e.source_is_current AND coalesce(e.source_validity @> CAST(:now AS timestamptz), true))
    ORDER BY e.weight DESC, e.id LIMIT :fan_out - (SELECT count(*) FROM in_full)))
) e

-- edges_of_at --
-- Fetch the heaviest edges of each frontier record as of an instant, per direction.
-- The relation must have existed then. The far end must have been in a state up to :newest_state then, and have held
-- at :valid_at unless :history; the caller must be able to read it in full then and now.
-- Prepared: relations are found by the indexes of their ends, and planning takes twice as long as reading them.
WITH ended AS MATERIALIZED (
  SELECT id, source, target, weight, created_at, predicate FROM relation_in_sight
  WHERE tenant = :tenant AND source = ANY(CAST(:frontier AS uuid[])) AND ended_at > :at
  UNION
  SELECT id, source, target, weight, created_at, predicate FROM relation_in_sight
  WHERE tenant = :tenant AND target = ANY(CAST(:frontier AS uuid[])) AND ended_at > :at
)
SELECT near.id AS near, e.id, e.far, e.weight, e.acl,
  (SELECT p.name FROM predicate p WHERE p.tenant = :tenant AND p.id = e.predicate) AS predicate
FROM unnest(CAST(:frontier AS uuid[])) AS near(id)
CROSS JOIN LATERAL (
  (SELECT e.id, e.far, e.weight, r.scope * 8 + r.sensitivity AS acl, e.predicate
   FROM (
     SELECT id, target AS far, weight, created_at, predicate FROM relation_in_sight
     WHERE tenant = :tenant AND source = near.id AND ended_at IS NULL
     UNION ALL
     SELECT id, target, weight, created_at, predicate FROM ended WHERE source = near.id
   ) e
   JOIN record r ON r.tenant = :tenant AND r.id = e.far
   WHERE e.created_at <= :at AND r.created_at <= :at
     AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
     AND (r.updated_at <= :at AND r.state <= :newest_state AND (:history OR coalesce(r.validity @> CAST(:valid_at AS timestamptz), true))
       OR r.updated_at > :at AND EXISTS (
       SELECT FROM record_history h
       WHERE h.tenant = r.tenant AND h.id = r.id AND h.from_at <= :at AND h.to_at > :at AND h.state <= :newest_state
         AND (:history OR coalesce(coalesce(h.validity, r.validity) @> CAST(:valid_at AS timestamptz), true))
         AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling))
   ORDER BY e.weight DESC, e.id LIMIT :fan_out)
  UNION ALL
  (SELECT e.id, e.far, e.weight, r.scope * 8 + r.sensitivity AS acl, e.predicate
   FROM (
     SELECT id, source AS far, weight, created_at, predicate FROM relation_in_sight
     WHERE tenant = :tenant AND target = near.id AND ended_at IS NULL
     UNION ALL
     SELECT id, source, weight, created_at, predicate FROM ended WHERE target = near.id
   ) e
   JOIN record r ON r.tenant = :tenant AND r.id = e.far
   WHERE e.created_at <= :at AND r.created_at <= :at
     AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
     AND (r.updated_at <= :at AND r.state <= :newest_state AND (:history OR coalesce(r.validity @> CAST(:valid_at AS timestamptz), true))
       OR r.updated_at > :at AND EXISTS (
       SELECT FROM record_history h
       WHERE h.tenant = r.tenant AND h.id = r.id AND h.from_at <= :at AND h.to_at > :at AND h.state <= :newest_state
         AND (:history OR coalesce(coalesce(h.validity, r.validity) @> CAST(:valid_at AS timestamptz), true))
         AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling))
   ORDER BY e.weight DESC, e.id LIMIT :fan_out)
) e

-- fetch_links --
-- Fetch the heaviest links of each frontier record, per direction, to other current records.
-- Only to records that the caller may read in full. With :dependents, only to records that refer to the frontier
-- record or rest on it: relations are then followed against their direction, and derivations along theirs.
-- Per record and direction, at most :scan links to readable records are read, however many of these hold at :at; then
-- `cut` is true on the last one, which is a link only where `holds`. Links to hidden records count for nothing.
WITH derivation AS MATERIALIZED (
  SELECT array_agg(p.id) AS ids FROM predicate p
  WHERE :dependents AND p.tenant = :tenant AND p.name = ANY(CAST(:derivations AS text[]))
)
SELECT near.id AS near, e.id, e.far, e.weight, e.outgoing, e.holds, e.cut
FROM unnest(CAST(:frontier AS uuid[])) AS near(id)
CROSS JOIN LATERAL (
  (SELECT * FROM (
     SELECT e.*, true AS outgoing, row_number() OVER () = :scan AS cut FROM (
       SELECT e.id, e.target AS far, e.weight,
         e.target_is_current AND coalesce(e.target_validity @> CAST(:at AS timestamptz), true) AS holds
       FROM relation_in_sight e
       WHERE e.tenant = :tenant AND e.source = near.id AND e.target <> near.id AND e.ended_at IS NULL AND NOT e.target_past
         AND {target_may_be_read} AND {target_may_hold}
         AND (NOT :dependents OR e.predicate = ANY(CAST((SELECT ids FROM derivation) AS integer[])))
         AND e.target <> ALL(CAST(:excluded AS uuid[]))
         AND (:all_scopes OR e.target_scope = ANY(CAST(:scopes AS integer[]))) AND e.target_sensitivity <= :ceiling
       ORDER BY e.weight DESC, e.id LIMIT :scan) e) e
   WHERE e.holds OR e.cut LIMIT :most)
  UNION ALL
  (SELECT * FROM (
     SELECT e.*, false AS outgoing, row_number() OVER () = :scan AS cut FROM (
       SELECT e.id, e.source AS far, e.weight,
         e.source_is_current AND coalesce(e.source_validity @> CAST(:at AS timestamptz), true) AS holds
       FROM relation_in_sight e
       WHERE e.tenant = :tenant AND e.target = near.id AND e.source <> near.id AND e.ended_at IS NULL AND NOT e.source_past
         AND {source_may_be_read} AND {source_may_hold}
         AND (NOT :dependents OR e.predicate <> ALL(coalesce(CAST((SELECT ids FROM derivation) AS integer[]), CAST(ARRAY[] AS integer[]))))
         AND e.source <> ALL(CAST(:excluded AS uuid[]))
         AND (:all_scopes OR e.source_scope = ANY(CAST(:scopes AS integer[]))) AND e.source_sensitivity <= :ceiling
       ORDER BY e.weight DESC, e.id LIMIT :scan) e) e
   WHERE e.holds OR e.cut LIMIT :most)
) e

-- relations_between --
-- Fetch open relations between :ids and :others, heaviest first.
-- Both ends must be current, and the caller must be able to read them in full.
SELECT e.id FROM (
  SELECT * FROM relation_in_sight
  WHERE tenant = :tenant AND source = ANY(CAST(:ids AS uuid[])) AND target = ANY(CAST(:others AS uuid[]))
    AND ended_at IS NULL
  UNION
  SELECT * FROM relation_in_sight
  WHERE tenant = :tenant AND target = ANY(CAST(:ids AS uuid[])) AND source = ANY(CAST(:others AS uuid[]))
    AND ended_at IS NULL
) e
WHERE (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
  AND greatest(e.source_sensitivity, e.target_sensitivity) <= :ceiling AND e.source_is_current AND e.target_is_current
  AND coalesce(e.source_validity @> CAST(:at AS timestamptz), true)
  AND coalesce(e.target_validity @> CAST(:at AS timestamptz), true)
  AND e.source <> e.target
ORDER BY e.weight DESC, e.id LIMIT :most

-- source_may_be_read --
-- Fragment: whether the caller may be able to read the source of the relation `e` in full, by the hint of the relation.
-- False only where it cannot: so that a relation to a hidden record costs an entry of the index, and not the look-up of
-- both ends.
(e.source_acl IS NULL
  OR (:all_scopes OR e.source_acl >> 3 = ANY(CAST(:scopes AS integer[]))) AND e.source_acl & 7 <= :ceiling)

-- source_may_be_seen --
-- Fragment: the same for a source that may be redacted for the caller.
(e.source_acl IS NULL
  OR (:all_scopes OR e.source_acl >> 3 = ANY(CAST(:scopes AS integer[]))) AND e.source_acl & 7 <= :ceiling + 1)

-- source_may_hold --
-- Fragment: whether the source of `e` may hold at :at, by the hint of the relation: an expired one does not.
(e.source_until IS NULL OR e.source_until > CAST(:at AS timestamptz))

-- target_may_be_read --
-- Fragment: whether the caller may be able to read the target of the relation `e` in full, by the hint of the relation.
-- See source_may_be_read.
(e.target_acl IS NULL
  OR (:all_scopes OR e.target_acl >> 3 = ANY(CAST(:scopes AS integer[]))) AND e.target_acl & 7 <= :ceiling)

-- target_may_be_seen --
-- Fragment: the same for a target that may be redacted for the caller.
(e.target_acl IS NULL
  OR (:all_scopes OR e.target_acl >> 3 = ANY(CAST(:scopes AS integer[]))) AND e.target_acl & 7 <= :ceiling + 1)

-- target_may_hold --
-- Fragment: whether the target of `e` may hold at :at, by the hint of the relation: an expired one does not.
(e.target_until IS NULL OR e.target_until > CAST(:at AS timestamptz))

-- fetch_types --
-- Fetch the types of those of the given records that the caller may see, in full or redacted.
-- Prepared: each record is a look-up.
SELECT h.id, h.type FROM unnest((SELECT CAST(:ids AS uuid[]))) AS asked(id)
  CROSS JOIN LATERAL (SELECT * FROM record_head h WHERE h.tenant = :tenant AND h.id = asked.id LIMIT 1) h
WHERE (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling + 1

-- fetch_links_at --
-- Fetch the heaviest links of each frontier record, per direction, to records that were current as of :at, or that are
-- current and held at :valid_at: the latter without :is_past. As fetch_links otherwise; the caller must be able to read
-- the far end in full then and now, and :scan links to records that it may read now are read per record and direction.
WITH derivation AS MATERIALIZED (
  SELECT array_agg(p.id) AS ids FROM predicate p
  WHERE :dependents AND p.tenant = :tenant AND p.name = ANY(CAST(:derivations AS text[]))
)
SELECT near.id AS near, e.id, e.far, e.weight, e.outgoing, e.holds, e.cut
FROM unnest(CAST(:frontier AS uuid[])) AS near(id)
CROSS JOIN LATERAL (
  (SELECT * FROM (
     SELECT e.*, true AS outgoing, row_number() OVER () = :scan AS cut FROM (
       SELECT e.id, e.target AS far, e.weight, {far_held} AS holds
       FROM relation_in_sight e
       CROSS JOIN LATERAL (SELECT * FROM record r WHERE r.tenant = :tenant AND r.id = e.target LIMIT 1) r
       WHERE e.tenant = :tenant AND e.source = near.id AND e.target <> near.id AND {was_open}
         AND (NOT :dependents OR e.predicate = ANY(CAST((SELECT ids FROM derivation) AS integer[])))
         AND e.target <> ALL(CAST(:excluded AS uuid[]))
         AND (:all_scopes OR e.target_scope = ANY(CAST(:scopes AS integer[]))) AND e.target_sensitivity <= :ceiling
       ORDER BY e.weight DESC, e.id LIMIT :scan) e) e
   WHERE e.holds OR e.cut LIMIT :most)
  UNION ALL
  (SELECT * FROM (
     SELECT e.*, false AS outgoing, row_number() OVER () = :scan AS cut FROM (
       SELECT e.id, e.source AS far, e.weight, {far_held} AS holds
       FROM relation_in_sight e
       CROSS JOIN LATERAL (SELECT * FROM record r WHERE r.tenant = :tenant AND r.id = e.source LIMIT 1) r
       WHERE e.tenant = :tenant AND e.target = near.id AND e.source <> near.id AND {was_open}
         AND (NOT :dependents OR e.predicate <> ALL(coalesce(CAST((SELECT ids FROM derivation) AS integer[]), CAST(ARRAY[] AS integer[]))))
         AND e.source <> ALL(CAST(:excluded AS uuid[]))
         AND (:all_scopes OR e.source_scope = ANY(CAST(:scopes AS integer[]))) AND e.source_sensitivity <= :ceiling
       ORDER BY e.weight DESC, e.id LIMIT :scan) e) e
   WHERE e.holds OR e.cut LIMIT :most)
) e

-- relations_between_at --
-- Fetch relations between :ids and :others that were open as of :at, heaviest first; the caller has read both ends.
SELECT e.id FROM (
  SELECT * FROM relation_in_sight
  WHERE tenant = :tenant AND source = ANY(CAST(:ids AS uuid[])) AND target = ANY(CAST(:others AS uuid[]))
  UNION
  SELECT * FROM relation_in_sight
  WHERE tenant = :tenant AND target = ANY(CAST(:ids AS uuid[])) AND source = ANY(CAST(:others AS uuid[]))
) e
WHERE {was_open} AND e.source <> e.target
  AND (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
  AND greatest(e.source_sensitivity, e.target_sensitivity) <= :ceiling
ORDER BY e.weight DESC, e.id LIMIT :most

-- was_open --
-- Fragment: whether the relation `e` was open as of :at.
e.created_at <= CAST(:at AS timestamptz) AND (e.ended_at IS NULL OR e.ended_at > CAST(:at AS timestamptz))

-- far_held --
-- Fragment: whether the record `r` was current as of :at and held at :valid_at, or else is current and held at it.
-- Of the facts, a superseded one may have held at :valid_at; but not as of a past instant at which it was superseded.
CASE WHEN :is_past THEN r.created_at <= CAST(:at AS timestamptz) AND (
    r.updated_at <= CAST(:at AS timestamptz) AND r.state <= 2
      AND coalesce(r.validity @> CAST(:valid_at AS timestamptz), true)
    OR r.updated_at > CAST(:at AS timestamptz) AND EXISTS (
      SELECT FROM record_history h
      WHERE h.tenant = r.tenant AND h.id = r.id AND h.from_at <= CAST(:at AS timestamptz) AND h.to_at > CAST(:at AS timestamptz)
        AND h.state <= 2 AND coalesce(coalesce(h.validity, r.validity) @> CAST(:valid_at AS timestamptz), true)
        AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling))
  ELSE (r.type = 4 OR r.state <= 2) AND {held_at} END
