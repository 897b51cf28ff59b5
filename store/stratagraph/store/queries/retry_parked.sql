UPDATE sync_parked SET next_try = clock_timestamp()
WHERE consumer = :consumer AND (:everything OR id = ANY(CAST(:ids AS uuid[]))) RETURNING id
