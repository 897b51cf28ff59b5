-- The heaviest edges at each frontier record, per direction, whose far end is in sight (in full, or as a leaf).
SELECT near.id AS near, e.id, e.far, e.weight, e.acl
FROM unnest(CAST(:frontier AS uuid[])) AS near(id)
CROSS JOIN LATERAL (
  (SELECT e.id, e.target AS far, e.weight, e.target_scope * 8 + e.target_sensitivity AS acl
   FROM relation_in_sight e
   WHERE e.tenant = :tenant AND e.source = near.id AND e.ended_at IS NULL
     AND (:all_scopes OR e.target_scope = ANY(CAST(:scopes AS integer[]))) AND e.target_sensitivity <= :ceiling + 1
     AND (:history OR e.target_is_current)
   ORDER BY e.weight DESC, e.id LIMIT :fan_out)
  UNION ALL
  (SELECT e.id, e.source AS far, e.weight, e.source_scope * 8 + e.source_sensitivity AS acl
   FROM relation_in_sight e
   WHERE e.tenant = :tenant AND e.target = near.id AND e.ended_at IS NULL
     AND (:all_scopes OR e.source_scope = ANY(CAST(:scopes AS integer[]))) AND e.source_sensitivity <= :ceiling + 1
     AND (:history OR e.source_is_current)
   ORDER BY e.weight DESC, e.id LIMIT :fan_out)
) e
