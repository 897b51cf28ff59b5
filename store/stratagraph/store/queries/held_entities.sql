-- Entities with a live relation to a current record that is not itself among those that go.
SELECT a.tenant, a.id
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
WHERE EXISTS (
  SELECT FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.source
  WHERE e.tenant = a.tenant AND e.target = a.id AND e.ended_at IS NULL AND r.state <= 2
    AND (r.tenant, r.id) NOT IN (SELECT * FROM unnest(CAST(:going_tenants AS bigint[]), CAST(:going_ids AS uuid[])))
) OR EXISTS (
  SELECT FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.target
  WHERE e.tenant = a.tenant AND e.source = a.id AND e.ended_at IS NULL AND r.state <= 2
    AND (r.tenant, r.id) NOT IN (SELECT * FROM unnest(CAST(:going_tenants AS bigint[]), CAST(:going_ids AS uuid[])))
)
