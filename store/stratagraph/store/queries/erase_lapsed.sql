-- Of some records those that went and hold nothing any more; what was merely forgotten still does.
SELECT id FROM tombstone WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND cause <> 1
