-- What was observed of a learned skill or plan is kept apart from the payload, which callers write.

ALTER TABLE record
  ADD COLUMN learned_state JSONB,
  DROP CONSTRAINT record_content_ck,
  ADD CONSTRAINT record_content_ck CHECK (CASE WHEN sealed IS NULL
    THEN num_nulls(name, text, payload, provenance) = 0
    ELSE num_nonnulls(name, text, payload, provenance, interpretation, learned_state) = 0 END);

ALTER TABLE record_history
  ADD COLUMN learned_state JSONB,
  DROP CONSTRAINT record_history_content_ck,
  ADD CONSTRAINT record_history_content_ck CHECK (CASE WHEN sealed IS NULL
    THEN num_nulls(name, text, payload, provenance) = 0
    ELSE num_nonnulls(name, text, payload, provenance, interpretation, learned_state) = 0 END);

COMMENT ON COLUMN record.sealed IS 'an AES-256-GCM envelope that holds all six instead';

COMMENT ON COLUMN record_history.sealed IS 'an AES-256-GCM envelope that holds all six instead';

COMMENT ON COLUMN record.learned_state IS 'what was observed of a learned skill or plan, of which its payload is made; no caller writes it';

COMMENT ON COLUMN record_history.learned_state IS 'what was observed of a learned skill or plan, of which its payload is made; no caller writes it';

-- Only what learning has written is its state; under the same key of a caller's payload there is a text of the caller's.

UPDATE record SET learned_state = payload -> 'learned', payload = payload - 'learned'
WHERE type IN (5, 6) AND jsonb_typeof(payload -> 'learned') = 'object'
  AND provenance ->> 'created_by' LIKE 'consolidation/%';

UPDATE record_history SET learned_state = payload -> 'learned', payload = payload - 'learned'
WHERE type IN (5, 6) AND jsonb_typeof(payload -> 'learned') = 'object'
  AND provenance ->> 'created_by' LIKE 'consolidation/%';

-- An episode of which one stage of learning fails is set aside for that stage.

ALTER TABLE job_set_aside ADD COLUMN stage TEXT;

COMMENT ON COLUMN job_set_aside.stage IS 'the stage that failed, of a job that has stages';

COMMENT ON COLUMN job_set_aside.error IS 'the kind of the error and where it arose, never its text';

-- Whose a request, an idempotency key, a retrieval, an upload or a free predicate is, was told by the name of the API key,
-- which several keys may have. A key made from now on has an identity of its own. Of the keys of before, one of each name
-- has the name as its identity, so that what is stored under it needs no change: the oldest that is valid.

ALTER TABLE credential ADD COLUMN identity TEXT;

UPDATE credential c SET identity = CASE
  WHEN ranked.place = 1 AND c.name !~ '^(single-user|import|housekeeping|upgrade|propagation|linking|consolidation(/.*)?)$'
  THEN c.name ELSE 'key:' || c.id END
FROM (
  SELECT id, row_number() OVER (PARTITION BY tenant, name ORDER BY
    (revoked_at IS NULL AND coalesce(expires_at > now(), true)) DESC, created_at, id) AS place
  FROM credential
) ranked
WHERE ranked.id = c.id;

ALTER TABLE credential ALTER COLUMN identity SET NOT NULL;

ALTER TABLE credential ADD CONSTRAINT credential_tenant_identity_uq UNIQUE (tenant, identity);

COMMENT ON COLUMN credential.identity IS
  'whose the requests are, also beside other keys of the name; of a release without, the name itself';

-- The other keys of a name get copies of what all of them shared: a repeated request must find its idempotency key.

INSERT INTO idempotency (tenant, actor, key_hash, request_hash, candidate, created_at)
SELECT i.tenant, c.identity, i.key_hash, i.request_hash, i.candidate, i.created_at
FROM credential c JOIN idempotency i ON i.tenant = c.tenant AND i.actor = c.name
WHERE c.identity <> c.name AND c.revoked_at IS NULL;

INSERT INTO free_predicate (tenant, actor, name)
SELECT p.tenant, c.identity, p.name
FROM credential c JOIN free_predicate p ON p.tenant = c.tenant AND p.actor = c.name
WHERE c.identity <> c.name AND c.revoked_at IS NULL;

INSERT INTO artifact_upload (tenant, sha256, actor, media_type, uploaded_at)
SELECT u.tenant, u.sha256, c.identity, u.media_type, u.uploaded_at
FROM credential c JOIN artifact_upload u ON u.tenant = c.tenant AND u.actor = c.name
WHERE c.identity <> c.name AND c.revoked_at IS NULL;

COMMENT ON COLUMN idempotency.actor IS 'the caller''s identity';

COMMENT ON COLUMN free_predicate.actor IS 'the caller''s identity';

COMMENT ON COLUMN artifact_upload.actor IS 'the caller''s identity';

COMMENT ON COLUMN retrieval.actor IS 'the caller''s identity';

-- A failed capture is retried with the rights and the identity that its caller had.

ALTER TABLE candidate ADD COLUMN caller_access SMALLINT, ADD COLUMN caller_identity TEXT;

COMMENT ON COLUMN candidate.caller_access IS 'access of the caller of a failed capture; none: write';

COMMENT ON COLUMN candidate.caller_identity IS
  'identity of the API key that sent a failed capture; none: the actor is the caller''s identity';

-- Who wrote the advice of a lesson, which they may not verify by themselves; the first one learned it.

ALTER TABLE record ADD COLUMN lesson_authors TEXT[];

COMMENT ON COLUMN record.lesson_authors IS
  'identities of those who wrote a lesson''s advice, first who learned it; null for any other record';

UPDATE record r SET lesson_authors = authors.actors
FROM (
  SELECT l.tenant, l.id, array_agg(a.actor ORDER BY a.seq) AS actors
  FROM record l CROSS JOIN LATERAL (
    SELECT e.actor, min(e.seq) AS seq FROM audit e
    WHERE e.tenant = l.tenant AND e.id = l.id AND e.action IN ('create', 'revise') GROUP BY e.actor
  ) a
  WHERE l.lesson_key IS NOT NULL AND l.state <= 2 GROUP BY l.tenant, l.id
) authors
WHERE r.tenant = authors.tenant AND r.id = authors.id;

-- At most so many pairs of one writer are listed in one scope and sensitivity.

ALTER TABLE duplicate_pair ADD COLUMN writer TEXT;

COMMENT ON COLUMN duplicate_pair.writer IS 'the actor that captured the newer record; null: rejected, or not compared since';

CREATE INDEX duplicate_pair_writer_ix ON duplicate_pair (tenant, scope, sensitivity, writer, minus_score, one, other)
  WHERE state = 1;

-- All entities and facts are compared again: a type is a hint now, and an alias of one side is no evidence of a merge.

UPDATE duplicate_progress SET is_filling = true, after_tenant = NULL, after_id = NULL;
