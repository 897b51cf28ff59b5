INSERT INTO sync_tick (snap) VALUES (CAST(:snap AS pg_snapshot))
