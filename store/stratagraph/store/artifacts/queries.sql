-- delete_removals --
-- These objects are gone.
DELETE FROM artifact_removal r
USING unnest(CAST(:tenants AS bigint[]), CAST(:objects AS uuid[])) AS gone(tenant, object)
WHERE r.tenant = gone.tenant AND r.object = gone.object

-- drop_all_artifacts --
-- A tenant's artifacts, locked before, cease to exist; their objects are queued for removal at once, those of uploads under way included.
-- Returns which.
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

-- drop_artifacts --
-- Of artifacts that are locked: drop those that no record refers to and, with `since`, nobody sent since then; queue their objects for removal at once.
-- Returns what went.
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

-- enqueue_removals --
-- Objects that nothing stands for any more, to be removed at once.
INSERT INTO artifact_removal (tenant, object, sha256, due_at)
SELECT tenant, object, sha256, CAST('-infinity' AS timestamptz)
FROM unnest(CAST(:tenants AS bigint[]), CAST(:objects AS uuid[]), CAST(:hashes AS bytea[])) AS r(tenant, object, sha256)

-- fetch_removals --
-- Objects that are to be removed by now, for one remover at a time.
SELECT tenant, object, sha256 FROM artifact_removal
WHERE due_at <= :at ORDER BY due_at, object LIMIT :limit FOR UPDATE SKIP LOCKED

-- fetch_removals_of --
-- What is left of orphans, to be removed at once.
-- Waits for a remover that is at it already.
SELECT tenant, object, sha256 FROM artifact_removal
WHERE tenant = :tenant AND sha256 = ANY(CAST(:hashes AS bytea[])) AND due_at = '-infinity'
ORDER BY object FOR UPDATE

-- find_artifacts --
-- Artifacts as far as the caller may know of them: its own uploads that no record has taken up, and what a record in full sight refers to.
-- What others say of the same bytes (their media type) stays theirs.
SELECT a.sha256, a.object, a.size_bytes, a.sealed, known.media_type
FROM artifact a CROSS JOIN LATERAL (
  SELECT said.media_type FROM (
    SELECT 1 AS rank, u.media_type FROM artifact_upload u
    WHERE u.tenant = a.tenant AND u.sha256 = a.sha256 AND u.actor = :actor AND u.uploaded_at > :since
    UNION ALL
    (SELECT 2, f.media_type FROM artifact_reference f JOIN record r ON r.tenant = f.tenant AND r.id = f.record
    WHERE f.tenant = a.tenant AND f.sha256 = a.sha256
      AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
    ORDER BY f.record DESC LIMIT 1)
  ) said ORDER BY said.rank LIMIT 1
) known
WHERE a.tenant = :tenant AND a.sha256 = ANY(CAST(:hashes AS bytea[]))

-- lock_artifacts_due --
-- Artifacts whose turn it is to be looked at.
-- One that a capture is just linking is left for the next pass.
SELECT tenant, sha256 FROM artifact WHERE look_at <= :at ORDER BY look_at LIMIT :limit FOR UPDATE SKIP LOCKED

-- lock_artifacts_shared --
-- Keep artifacts from being removed until this transaction ends.
-- In one order, as their remover takes them.
SELECT sha256 FROM artifact
WHERE tenant = :tenant AND sha256 = ANY(CAST(:hashes AS bytea[]))
ORDER BY sha256 FOR KEY SHARE

-- postpone_artifact_checks --
-- Artifacts that were looked at and are needed: forget the uploads that have expired, and say when to look next.
WITH due AS (
  SELECT * FROM unnest(CAST(:tenants AS bigint[]), CAST(:hashes AS bytea[])) AS d(tenant, sha256)
), expired AS (
  DELETE FROM artifact_upload u USING due
  WHERE u.tenant = due.tenant AND u.sha256 = due.sha256 AND u.uploaded_at <= :since
)
UPDATE artifact a SET look_at = :again
FROM due WHERE a.tenant = due.tenant AND a.sha256 = due.sha256

-- postpone_removals --
-- These objects could not be removed now.
UPDATE artifact_removal r SET due_at = :until
FROM unnest(CAST(:tenants AS bigint[]), CAST(:objects AS uuid[])) AS failed(tenant, object)
WHERE r.tenant = failed.tenant AND r.object = failed.object

-- release_references --
-- Records that go let go of their artifacts.
-- Returns which.
DELETE FROM artifact_reference
WHERE tenant = :tenant AND record = ANY(CAST(:records AS uuid[]))
RETURNING sha256
