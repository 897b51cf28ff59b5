-- Records that stay and may repeat something of those that go: related ones, and entities made together with them.
WITH near AS MATERIALIZED (
  SELECT e.target AS id FROM relation e WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))
  UNION
  SELECT e.source FROM relation e WHERE e.tenant = :tenant AND e.target = ANY(CAST(:ids AS uuid[]))
  UNION
  SELECT unnest(c.created_records) FROM candidate c WHERE c.tenant = :tenant AND c.record = ANY(CAST(:ids AS uuid[]))
)
SELECT n.id FROM near n
WHERE n.id <> ALL(CAST(:ids AS uuid[]))
  AND (SELECT true FROM record r WHERE r.tenant = :tenant AND r.id = n.id)
