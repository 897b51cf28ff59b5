-- Records that go let go of their artifacts. Returns which.
DELETE FROM artifact_reference
WHERE tenant = :tenant AND record = ANY(CAST(:records AS uuid[]))
RETURNING sha256
