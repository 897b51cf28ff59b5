-- The heaviest links of each frontier record, per direction, to other current records in full sight. With :dependents,
-- only to those that refer to it or rest on it: derivations point the other way round than all other relations.
WITH derivation AS MATERIALIZED (
  SELECT array_agg(p.id) AS ids FROM predicate p
  WHERE :dependents AND p.tenant = :tenant AND p.name = ANY(CAST(:derivations AS text[]))
)
SELECT near.id AS near, e.id, e.far, e.weight, e.outgoing
FROM unnest(CAST(:frontier AS uuid[])) AS near(id)
CROSS JOIN LATERAL (
  (SELECT e.id, e.target AS far, e.weight, true AS outgoing
   FROM relation_in_sight e
   WHERE e.tenant = :tenant AND e.source = near.id AND e.target <> near.id AND e.ended_at IS NULL
     AND (NOT :dependents OR e.predicate = ANY(CAST((SELECT ids FROM derivation) AS integer[])))
     AND e.target <> ALL(CAST(:besides AS uuid[]))
     AND (:all_scopes OR e.target_scope = ANY(CAST(:scopes AS integer[]))) AND e.target_sensitivity <= :ceiling
     AND e.target_is_current
   ORDER BY e.weight DESC, e.id LIMIT :most)
  UNION ALL
  (SELECT e.id, e.source AS far, e.weight, false AS outgoing
   FROM relation_in_sight e
   WHERE e.tenant = :tenant AND e.target = near.id AND e.source <> near.id AND e.ended_at IS NULL
     AND (NOT :dependents OR e.predicate <> ALL(coalesce(CAST((SELECT ids FROM derivation) AS integer[]), CAST(ARRAY[] AS integer[]))))
     AND e.source <> ALL(CAST(:besides AS uuid[]))
     AND (:all_scopes OR e.source_scope = ANY(CAST(:scopes AS integer[]))) AND e.source_sensitivity <= :ceiling
     AND e.source_is_current
   ORDER BY e.weight DESC, e.id LIMIT :most)
) e
