-- The lowest number of a running transaction that writes; past the last one, if none runs. Must have no number itself.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest
