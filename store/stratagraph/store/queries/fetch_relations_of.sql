-- The relations at each of some records, heaviest first, at most :limit each.
SELECT asked.id AS asked, e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
  SELECT e.* FROM (
    (SELECT * FROM relation WHERE tenant = :tenant AND source = asked.id AND ended_at IS NULL
     ORDER BY weight DESC, id LIMIT :limit)
    UNION ALL
    (SELECT * FROM relation WHERE tenant = :tenant AND target = asked.id AND source <> asked.id AND ended_at IS NULL
     ORDER BY weight DESC, id LIMIT :limit)
  ) e
  JOIN record a ON a.tenant = e.tenant AND a.id = e.source
  JOIN record b ON b.tenant = e.tenant AND b.id = e.target
  WHERE (:all_scopes OR (a.scope = ANY(CAST(:scopes AS integer[])) AND b.scope = ANY(CAST(:scopes AS integer[]))))
  AND least(a.sensitivity, b.sensitivity) <= :ceiling AND greatest(a.sensitivity, b.sensitivity) <= :ceiling + 1
  ORDER BY e.weight DESC, e.id LIMIT :limit
) e
ORDER BY asked.id, e.weight DESC, e.id
