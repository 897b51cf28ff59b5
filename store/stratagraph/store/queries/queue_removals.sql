-- Objects that nothing stands for any more, to be removed at once.
INSERT INTO artifact_removal (tenant, object, sha256, due_at)
SELECT tenant, object, sha256, CAST('-infinity' AS timestamptz)
FROM unnest(CAST(:tenants AS bigint[]), CAST(:objects AS uuid[]), CAST(:hashes AS bytea[])) AS r(tenant, object, sha256)
