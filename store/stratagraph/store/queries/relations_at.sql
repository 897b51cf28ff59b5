-- Every open relation at some records.
SELECT e.id, e.source, e.target, p.name, e.weight
FROM relation e JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate
WHERE e.tenant = :tenant AND e.ended_at IS NULL
  AND (e.source = ANY(CAST(:ids AS uuid[])) OR e.target = ANY(CAST(:ids AS uuid[])))
ORDER BY e.id
