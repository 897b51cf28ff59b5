-- The next tenant that has entries, heads or records; it may be gone itself.
SELECT least(
  (SELECT min(tenant) FROM audit WHERE tenant > :after),
  (SELECT min(tenant) FROM audit_head WHERE tenant > :after),
  (SELECT min(tenant) FROM record WHERE tenant > :after)
) AS tenant
