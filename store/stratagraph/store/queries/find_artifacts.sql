-- Artifacts as far as the caller may know of them: its own uploads that no record has taken up, and what a record in
-- full sight refers to. What others say of the same bytes (their media type) stays theirs.
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
