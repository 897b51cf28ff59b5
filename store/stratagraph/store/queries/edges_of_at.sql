-- The heaviest edges at each frontier record as of an instant, per direction: relations that existed then, to records
-- that were in the asked states then and are in full sight then and now.
WITH ended AS MATERIALIZED (
  SELECT id, source, target, weight, created_at FROM relation_in_sight
  WHERE tenant = :tenant AND source = ANY(CAST(:frontier AS uuid[])) AND ended_at > :at
  UNION
  SELECT id, source, target, weight, created_at FROM relation_in_sight
  WHERE tenant = :tenant AND target = ANY(CAST(:frontier AS uuid[])) AND ended_at > :at
)
SELECT near.id AS near, e.id, e.far, e.weight, e.acl
FROM unnest(CAST(:frontier AS uuid[])) AS near(id)
CROSS JOIN LATERAL (
  (SELECT e.id, e.far, e.weight, r.scope * 8 + r.sensitivity AS acl
   FROM (
     SELECT id, target AS far, weight, created_at FROM relation_in_sight
     WHERE tenant = :tenant AND source = near.id AND ended_at IS NULL
     UNION ALL
     SELECT id, target, weight, created_at FROM ended WHERE source = near.id
   ) e
   JOIN record r ON r.tenant = :tenant AND r.id = e.far
   WHERE e.created_at <= :at AND r.created_at <= :at
     AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
     AND (r.updated_at <= :at AND r.state <= :newest_state OR r.updated_at > :at AND EXISTS (
       SELECT FROM record_history h
       WHERE h.tenant = r.tenant AND h.id = r.id AND h.from_at <= :at AND h.to_at > :at AND h.state <= :newest_state
         AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling))
   ORDER BY e.weight DESC, e.id LIMIT :fan_out)
  UNION ALL
  (SELECT e.id, e.far, e.weight, r.scope * 8 + r.sensitivity AS acl
   FROM (
     SELECT id, source AS far, weight, created_at FROM relation_in_sight
     WHERE tenant = :tenant AND target = near.id AND ended_at IS NULL
     UNION ALL
     SELECT id, source, weight, created_at FROM ended WHERE target = near.id
   ) e
   JOIN record r ON r.tenant = :tenant AND r.id = e.far
   WHERE e.created_at <= :at AND r.created_at <= :at
     AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
     AND (r.updated_at <= :at AND r.state <= :newest_state OR r.updated_at > :at AND EXISTS (
       SELECT FROM record_history h
       WHERE h.tenant = r.tenant AND h.id = r.id AND h.from_at <= :at AND h.to_at > :at AND h.state <= :newest_state
         AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling))
   ORDER BY e.weight DESC, e.id LIMIT :fan_out)
) e
