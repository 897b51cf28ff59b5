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

GRANT UPDATE (learned_state) ON record_history TO {write}, {jobs}, {erase}, {keys};

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
