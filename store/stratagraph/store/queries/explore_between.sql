-- Live relations with one end among :ids and the other among :others, both current and in full sight, heaviest first.
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
  AND e.source <> e.target
ORDER BY e.weight DESC, e.id LIMIT :most
