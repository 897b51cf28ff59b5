-- Entities that captures of records that go have made or named, and that nothing else names. One that was captured in
-- its own right is not among them.
SELECT r.id, r.provenance, r.sealed, EXISTS (SELECT FROM candidate c
    WHERE c.tenant = r.tenant AND c.record = ANY(CAST(:ids AS uuid[])) AND r.id = ANY(c.created_records)) AS made
FROM record r
WHERE r.tenant = :tenant AND r.type = 3 AND r.id <> ALL(CAST(:ids AS uuid[])) AND r.id IN (
    SELECT e.target FROM relation e WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))
    UNION ALL
    SELECT unnest(c.created_records) FROM candidate c WHERE c.tenant = :tenant AND c.record = ANY(CAST(:ids AS uuid[])))
  AND NOT EXISTS (SELECT FROM relation e
    WHERE e.tenant = r.tenant AND e.source = r.id AND e.target <> ALL(CAST(:ids AS uuid[])))
  AND NOT EXISTS (SELECT FROM relation e
    WHERE e.tenant = r.tenant AND e.target = r.id AND e.source <> ALL(CAST(:ids AS uuid[])))
  AND NOT EXISTS (SELECT FROM candidate c WHERE c.tenant = r.tenant AND c.record = r.id)
