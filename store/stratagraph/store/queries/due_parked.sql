SELECT tenant, kind, id, version FROM sync_parked
WHERE consumer = :consumer AND next_try <= clock_timestamp() ORDER BY next_try LIMIT :limit
