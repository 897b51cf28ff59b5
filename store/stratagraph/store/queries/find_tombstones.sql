SELECT id, type, scope, sensitivity, at FROM tombstone WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
