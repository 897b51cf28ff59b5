-- Of artifacts that are locked: drop those that no record refers to and, with `since`, nobody sent since then; queue
-- their objects for removal at once. Returns what went.
WITH gone AS (
  DELETE FROM artifact a USING unnest(CAST(:tenants AS bigint[]), CAST(:hashes AS bytea[])) AS due(tenant, sha256)
  WHERE a.tenant = due.tenant AND a.sha256 = due.sha256
    AND NOT EXISTS (SELECT FROM artifact_reference f WHERE f.tenant = a.tenant AND f.sha256 = a.sha256)
    AND (CAST(:since AS timestamptz) IS NULL OR NOT EXISTS (SELECT FROM artifact_upload u
      WHERE u.tenant = a.tenant AND u.sha256 = a.sha256 AND u.uploaded_at > CAST(:since AS timestamptz)))
  RETURNING a.tenant, a.object, a.sha256
), queued AS (
  INSERT INTO artifact_removal (tenant, object, sha256, due_at)
  SELECT tenant, object, sha256, CAST('-infinity' AS timestamptz) FROM gone
)
SELECT sha256 FROM gone
