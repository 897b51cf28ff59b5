-- Episodes that lose members, locked in the order in which writers lock them, or whole ones that go.
SELECT id, scope, closed_at IS NOT NULL AS closed FROM episode
WHERE tenant = :tenant AND id IN (
  SELECT episode FROM episode_event WHERE tenant = :tenant AND record = ANY(CAST(:ids AS uuid[]))
  UNION ALL
  SELECT unnest(CAST(:ids AS uuid[])))
ORDER BY scope, sensitivity, thread_key FOR UPDATE
