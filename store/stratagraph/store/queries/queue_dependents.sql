-- Queue all current records derived directly from one of some records, but for those that have been looked at.
INSERT INTO reevaluation (tenant, id, cause, queued_at, next_try_at, attempts)
SELECT DISTINCT ON (e.target) e.tenant, e.target, e.source, CAST(:at AS timestamptz), CAST(:at AS timestamptz), 0
FROM relation e
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name IN ('derived_semantic', 'supports')
JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.state <= 2
WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
  AND e.target <> ALL(CAST(:known AS uuid[]))
ORDER BY e.target
ON CONFLICT (tenant, id) DO NOTHING
RETURNING id
