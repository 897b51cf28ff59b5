-- Tickers take turns, and none waits: another's tick will do. In a statement of its own, so that the snapshot of the
-- next one is later than the tick of whoever held the lock before.
SELECT pg_try_advisory_xact_lock(7001) AS locked
