-- A transaction that got its number after :after: the one that stored the first tick since, or else this one. (The xmax
-- of the tick's snapshot would not do: writers that nobody has overtaken yet have that number or a higher one.)
SELECT coalesce(
  (SELECT newest.xid - mod(newest.xid - t.xmin::text::bigint, 4294967296)
   FROM sync_tick t, (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid) newest
   WHERE t.at >= :after ORDER BY t.id LIMIT 1),
  pg_current_xact_id()::text::bigint) AS horizon
