-- The relations at each of some records, heaviest first, at most :limit each.
SELECT asked.id AS asked, e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
  SELECT e.* FROM (
    (SELECT e.* FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.source = asked.id AND e.ended_at IS NULL
       AND (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
       AND least(e.source_sensitivity, e.target_sensitivity) <= :ceiling
       AND greatest(e.source_sensitivity, e.target_sensitivity) <= :ceiling + 1
     ORDER BY e.weight DESC, e.id LIMIT :limit)
    UNION ALL
    (SELECT e.* FROM relation_in_sight e
     WHERE e.tenant = :tenant AND e.target = asked.id AND e.source <> asked.id AND e.ended_at IS NULL
       AND (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
       AND least(e.source_sensitivity, e.target_sensitivity) <= :ceiling
       AND greatest(e.source_sensitivity, e.target_sensitivity) <= :ceiling + 1
     ORDER BY e.weight DESC, e.id LIMIT :limit)
  ) e
  ORDER BY e.weight DESC, e.id LIMIT :limit
) e
ORDER BY asked.id, e.weight DESC, e.id
