-- Records of a tenant that goes: no tombstone is left of them.
DELETE FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) RETURNING id, type, row_version
