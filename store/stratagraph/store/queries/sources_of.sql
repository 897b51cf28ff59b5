-- What each of some records was derived from, whether that still holds or not.
SELECT e.target AS id, array_agg(e.source) AS sources
FROM relation e JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate
  AND p.name IN ('derived_semantic', 'supports')
WHERE e.tenant = :tenant AND e.target = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
GROUP BY e.target
