-- The open disputes in which some records stand.
SELECT e.id, e.source, e.target
FROM relation e JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'contested_by'
WHERE e.tenant = :tenant AND e.ended_at IS NULL
  AND (e.source = ANY(CAST(:ids AS uuid[])) OR e.target = ANY(CAST(:ids AS uuid[])))
