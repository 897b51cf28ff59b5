-- Changes that the mirror refused, with what it said of them.
DELETE FROM sync_parked WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
