-- Delete relations at records that go, at most :limit. In key order, and without those that somebody else holds: two
-- that delete the ends of one relation never wait for each other.
WITH ends AS (
  SELECT * FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
), found AS (
  SELECT e.tenant, e.id FROM ends a JOIN relation e ON e.tenant = a.tenant AND e.source = a.id
  UNION
  SELECT e.tenant, e.id FROM ends a JOIN relation e ON e.tenant = a.tenant AND e.target = a.id
  LIMIT :limit
), held AS (
  SELECT e.tenant, e.id FROM relation e JOIN found f ON e.tenant = f.tenant AND e.id = f.id
  ORDER BY e.tenant, e.id FOR UPDATE OF e SKIP LOCKED
)
DELETE FROM relation e USING held h WHERE e.tenant = h.tenant AND e.id = h.id
RETURNING e.tenant, e.id, e.row_version
