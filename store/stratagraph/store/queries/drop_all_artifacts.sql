-- A tenant's artifacts, locked before, cease to exist; their objects are queued for removal at once, those of uploads
-- under way included. Returns which.
WITH unreferenced AS (
  DELETE FROM artifact_reference WHERE tenant = :tenant
), gone AS (
  DELETE FROM artifact WHERE tenant = :tenant RETURNING tenant, object, sha256
), under_way AS (
  UPDATE artifact_removal SET due_at = CAST('-infinity' AS timestamptz) WHERE tenant = :tenant
)
INSERT INTO artifact_removal (tenant, object, sha256, due_at)
SELECT tenant, object, sha256, CAST('-infinity' AS timestamptz) FROM gone
RETURNING sha256
