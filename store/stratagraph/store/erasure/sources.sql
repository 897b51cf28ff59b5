-- remember_deleted_sources --
-- Remember the idempotency keys of the captures whose records of the scope were deleted or pruned earlier.
INSERT INTO erased_source (tenant, key_hash, scope, sensitivity, at)
SELECT DISTINCT t.tenant, i.key_hash, t.scope, t.sensitivity, CAST(:at AS timestamptz)
FROM tombstone t
JOIN candidate c ON c.tenant = t.tenant AND c.record = t.id
JOIN idempotency i ON i.tenant = c.tenant AND i.candidate = c.id
WHERE t.tenant = :tenant AND t.scope = :scope
ON CONFLICT DO NOTHING

-- remember_sources --
-- Remember the idempotency keys of records that are or were erased, and the refs and threads of what imports captured.
-- Any other caller may use any ref and thread, and must not make an import leave something out.
WITH erased AS MATERIALIZED (
  SELECT id, scope, sensitivity, type, handle_key FROM record
  WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
  UNION ALL
  SELECT t.id, t.scope, t.sensitivity, NULL, NULL FROM tombstone t
  WHERE t.tenant = :tenant AND t.id = ANY(CAST(:ids AS uuid[]))
    AND (SELECT true FROM record r WHERE r.tenant = :tenant AND r.id = t.id LIMIT 1) IS NULL
)
INSERT INTO erased_source (tenant, key_hash, scope, sensitivity, at)
SELECT DISTINCT CAST(:tenant AS bigint), s.key_hash, s.scope, s.sensitivity, CAST(:at AS timestamptz)
FROM (
  SELECT i.key_hash, e.scope, e.sensitivity
  FROM erased e
  JOIN candidate c ON c.tenant = :tenant AND c.record = e.id
  JOIN idempotency i ON i.tenant = :tenant AND i.candidate = c.id
  UNION ALL
  SELECT e.handle_key, e.scope, e.sensitivity FROM erased e
  WHERE e.type = 1 AND e.handle_key IS NOT NULL
    AND (SELECT true FROM candidate c WHERE c.tenant = :tenant AND c.record = e.id AND c.is_import LIMIT 1)
  UNION ALL
  SELECT p.thread_key, e.scope, e.sensitivity
  FROM erased e JOIN episode p ON p.tenant = :tenant AND p.id = e.id
  WHERE (SELECT true FROM candidate c
    WHERE c.tenant = :tenant AND c.is_import AND c.record IN (
      SELECT e.id UNION ALL SELECT v.record FROM episode_event v WHERE v.tenant = :tenant AND v.episode = e.id) LIMIT 1)
) s
ORDER BY 2, 3, 4
ON CONFLICT DO NOTHING
