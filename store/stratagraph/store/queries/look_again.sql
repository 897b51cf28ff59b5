-- Artifacts that were looked at and are needed: forget the uploads that have expired, and say when to look next.
WITH due AS (
  SELECT * FROM unnest(CAST(:tenants AS bigint[]), CAST(:hashes AS bytea[])) AS d(tenant, sha256)
), expired AS (
  DELETE FROM artifact_upload u USING due
  WHERE u.tenant = due.tenant AND u.sha256 = due.sha256 AND u.uploaded_at <= :since
)
UPDATE artifact a SET look_at = :again
FROM due WHERE a.tenant = due.tenant AND a.sha256 = due.sha256
