-- delete_all_artifacts --
-- Delete the locked artifacts of a tenant and queue their objects for removal at once; return their hashes.
-- The objects of uploads in progress are queued too.
WITH unreferenced AS (
  DELETE FROM artifact_reference WHERE tenant = :tenant
), deleted AS (
  DELETE FROM artifact WHERE tenant = :tenant RETURNING tenant, object, sha256
), in_progress AS (
  UPDATE artifact_removal SET due_at = CAST('-infinity' AS timestamptz) WHERE tenant = :tenant
)
INSERT INTO artifact_removal (tenant, object, sha256, due_at)
SELECT tenant, object, sha256, CAST('-infinity' AS timestamptz) FROM deleted
RETURNING sha256

-- delete_artifacts --
-- Delete those of the given locked artifacts that nothing needs, and queue their objects; return their hashes.
-- An artifact is needed while a record refers to it and, with :since, if it was uploaded after :since.
WITH deleted AS (
  DELETE FROM artifact a USING unnest(CAST(:tenants AS bigint[]), CAST(:hashes AS bytea[])) AS due(tenant, sha256)
  WHERE a.tenant = due.tenant AND a.sha256 = due.sha256
    AND NOT EXISTS (SELECT FROM artifact_reference f WHERE f.tenant = a.tenant AND f.sha256 = a.sha256)
    AND (CAST(:since AS timestamptz) IS NULL OR NOT EXISTS (SELECT FROM artifact_upload u
      WHERE u.tenant = a.tenant AND u.sha256 = a.sha256 AND u.uploaded_at > CAST(:since AS timestamptz)))
  RETURNING a.tenant, a.object, a.sha256
), queued AS (
  INSERT INTO artifact_removal (tenant, object, sha256, due_at)
  SELECT tenant, object, sha256, CAST('-infinity' AS timestamptz) FROM deleted
)
SELECT sha256 FROM deleted

-- delete_removals --
-- Delete the queue entries of objects that have been removed.
DELETE FROM artifact_removal r
USING unnest(CAST(:tenants AS bigint[]), CAST(:objects AS uuid[])) AS removed(tenant, object)
WHERE r.tenant = removed.tenant AND r.object = removed.object

-- enqueue_removals --
-- Queue objects that no artifact uses any more for removal at once.
INSERT INTO artifact_removal (tenant, object, sha256, due_at)
SELECT tenant, object, sha256, CAST('-infinity' AS timestamptz)
FROM unnest(CAST(:tenants AS bigint[]), CAST(:objects AS uuid[]), CAST(:hashes AS bytea[])) AS r(tenant, object, sha256)

-- fetch_removals --
-- Lock and fetch objects whose removal is due, skipping those that another transaction holds.
SELECT tenant, object, sha256 FROM artifact_removal
WHERE due_at <= :at ORDER BY due_at, object LIMIT :limit FOR UPDATE SKIP LOCKED

-- fetch_removals_of --
-- Lock and fetch the queued objects of the given hashes that are to be removed at once.
-- Waits for a transaction that is removing one of them.
SELECT tenant, object, sha256 FROM artifact_removal
WHERE tenant = :tenant AND sha256 = ANY(CAST(:hashes AS bytea[])) AND due_at = '-infinity'
ORDER BY object FOR UPDATE

-- find_artifacts --
-- Find artifacts that the caller uploaded, or to which a record refers that the caller may read in full.
-- The media type is the one given by the caller's upload or by that record; those that others gave for the same bytes
-- are not shown.
SELECT a.sha256, a.object, a.size_bytes, a.sealed, known.media_type
FROM artifact a CROSS JOIN LATERAL (
  SELECT source.media_type FROM (
    SELECT 1 AS rank, u.media_type FROM artifact_upload u
    WHERE u.tenant = a.tenant AND u.sha256 = a.sha256 AND u.actor = :actor AND u.uploaded_at > :since
    UNION ALL
    (SELECT 2, f.media_type FROM artifact_reference f JOIN record r ON r.tenant = f.tenant AND r.id = f.record
    WHERE f.tenant = a.tenant AND f.sha256 = a.sha256
      AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
    ORDER BY f.record DESC LIMIT 1)
  ) source ORDER BY source.rank LIMIT 1
) known
WHERE a.tenant = :tenant AND a.sha256 = ANY(CAST(:hashes AS bytea[]))

-- lock_artifacts_due --
-- Lock artifacts whose check is due, skipping those that a capture is linking.
SELECT tenant, sha256 FROM artifact WHERE look_at <= :at ORDER BY look_at LIMIT :limit FOR UPDATE SKIP LOCKED

-- lock_artifacts_shared --
-- Prevent the deletion of the given artifacts until the transaction ends.
-- Locked in the same order as by the transaction that deletes them.
SELECT sha256 FROM artifact
WHERE tenant = :tenant AND sha256 = ANY(CAST(:hashes AS bytea[]))
ORDER BY sha256 FOR KEY SHARE

-- postpone_artifact_checks --
-- Set the next check of the given artifacts and delete their expired uploads.
WITH due AS (
  SELECT * FROM unnest(CAST(:tenants AS bigint[]), CAST(:hashes AS bytea[])) AS d(tenant, sha256)
), expired AS (
  DELETE FROM artifact_upload u USING due
  WHERE u.tenant = due.tenant AND u.sha256 = due.sha256 AND u.uploaded_at <= :since
)
UPDATE artifact a SET look_at = :again
FROM due WHERE a.tenant = due.tenant AND a.sha256 = due.sha256

-- postpone_removals --
-- Postpone the removal of objects that could not be removed.
UPDATE artifact_removal r SET due_at = :until
FROM unnest(CAST(:tenants AS bigint[]), CAST(:objects AS uuid[])) AS failed(tenant, object)
WHERE r.tenant = failed.tenant AND r.object = failed.object

-- release_references --
-- Delete the artifact references of the given records and return the hashes of the artifacts.
DELETE FROM artifact_reference
WHERE tenant = :tenant AND record = ANY(CAST(:records AS uuid[]))
RETURNING sha256
