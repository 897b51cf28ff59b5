-- The heaviest edges at each frontier record, per direction, whose far end is in sight (in full, or as a leaf).
SELECT near.id AS near, e.id, e.far, e.weight, e.acl
FROM unnest(CAST(:frontier AS uuid[])) AS near(id)
CROSS JOIN LATERAL (
  (SELECT e.id, e.target AS far, e.weight, r.scope * 8 + r.sensitivity AS acl
   FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.target
   WHERE e.tenant = :tenant AND e.source = near.id AND e.ended_at IS NULL
     AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling + 1
     AND r.state <= :newest_state
   ORDER BY e.weight DESC, e.id LIMIT :fan_out)
  UNION ALL
  (SELECT e.id, e.source AS far, e.weight, r.scope * 8 + r.sensitivity AS acl
   FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.source
   WHERE e.tenant = :tenant AND e.target = near.id AND e.ended_at IS NULL
     AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling + 1
     AND r.state <= :newest_state
   ORDER BY e.weight DESC, e.id LIMIT :fan_out)
) e
