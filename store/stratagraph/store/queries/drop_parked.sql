DELETE FROM sync_parked WHERE consumer = :consumer AND (:everything OR id = ANY(CAST(:ids AS uuid[]))) RETURNING id
