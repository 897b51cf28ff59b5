-- Records that stay and may repeat something of those that go: related ones, and entities made together with them.
SELECT r.id FROM record r
WHERE r.tenant = :tenant AND r.id <> ALL(CAST(:ids AS uuid[])) AND r.id IN (
  SELECT e.target FROM relation e WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))
  UNION ALL
  SELECT e.source FROM relation e WHERE e.tenant = :tenant AND e.target = ANY(CAST(:ids AS uuid[]))
  UNION ALL
  SELECT unnest(c.created_records) FROM candidate c WHERE c.tenant = :tenant AND c.record = ANY(CAST(:ids AS uuid[])))
