-- What each of some records was derived from, as far as it still holds.
SELECT e.target AS id, array_agg(e.source) AS sources
FROM relation e
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate
JOIN record r ON r.tenant = e.tenant AND r.id = e.source
WHERE e.tenant = :tenant AND e.target = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
  AND p.name IN ('derived_semantic', 'supports') AND r.state = 1
GROUP BY e.target
