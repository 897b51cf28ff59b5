-- About how many entries there are, as the planner thinks: costs the same however many.
EXPLAIN (FORMAT JSON) SELECT FROM audit
WHERE (CAST(:tenant AS bigint) IS NULL OR tenant = CAST(:tenant AS bigint))
  AND (CAST(:record AS uuid) IS NULL OR id = CAST(:record AS uuid))
