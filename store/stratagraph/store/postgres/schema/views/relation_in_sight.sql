CREATE VIEW relation_in_sight AS
SELECT e.tenant, e.id, e.source, e.target, e.predicate, e.weight, e.created_at, e.ended_at,
  a.scope AS source_scope, a.sensitivity AS source_sensitivity, a.is_current AS source_is_current,
  b.scope AS target_scope, b.sensitivity AS target_sensitivity, b.is_current AS target_is_current,
  a.validity AS source_validity, b.validity AS target_validity, e.source_past, e.target_past,
  e.source_acl, e.target_acl, e.source_until, e.target_until
FROM relation e
CROSS JOIN LATERAL (
  SELECT r.scope, r.sensitivity, r.state <= 2 AS is_current, r.validity FROM record r
  WHERE r.tenant = e.tenant AND r.id = e.source LIMIT 1
) a
CROSS JOIN LATERAL (
  SELECT r.scope, r.sensitivity, r.state <= 2 AS is_current, r.validity FROM record r
  WHERE r.tenant = e.tenant AND r.id = e.target LIMIT 1
) b
WHERE least(a.sensitivity, b.sensitivity) <= (SELECT caller_ceiling());
