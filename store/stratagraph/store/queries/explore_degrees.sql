-- How many relations each record has to other current ones in full sight, counted to :most.
SELECT near.id, (
  SELECT count(*) FROM (
    (SELECT e.id FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.source = near.id AND e.target <> near.id AND e.ended_at IS NULL
       AND (:all_scopes OR e.target_scope = ANY(CAST(:scopes AS integer[]))) AND e.target_sensitivity <= :ceiling
       AND e.target_is_current LIMIT :most)
    UNION ALL
    (SELECT e.id FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.target = near.id AND e.source <> near.id AND e.ended_at IS NULL
       AND (:all_scopes OR e.source_scope = ANY(CAST(:scopes AS integer[]))) AND e.source_sensitivity <= :ceiling
       AND e.source_is_current LIMIT :most)
    LIMIT :most
  ) e
) AS degree
FROM unnest(CAST(:ids AS uuid[])) AS near(id)
