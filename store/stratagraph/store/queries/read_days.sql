SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'sync_log'::regclass ORDER BY 1
