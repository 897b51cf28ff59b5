-- The next tenant that has anything to show.
SELECT min(tenant) AS tenant FROM (
  (SELECT tenant FROM record WHERE tenant > :after ORDER BY tenant LIMIT 1)
  UNION ALL
  (SELECT tenant FROM relation WHERE tenant > :after ORDER BY tenant LIMIT 1)
) next
