-- Current records derived directly from one of some records.
SELECT DISTINCT e.target AS id
FROM relation e
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name IN ('derived_semantic', 'supports')
JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.state <= 2
WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
  AND e.target <> ALL(CAST(:known AS uuid[]))
ORDER BY e.target LIMIT :limit
