SELECT tenant, kind, id, version, error, tries, next_try FROM sync_parked
WHERE consumer = :consumer ORDER BY next_try LIMIT :limit
