-- A language model reads each text soon after its capture, and no more only whole episodes that are closed.

DROP INDEX extraction_next_try_at_ix;

ALTER TABLE extraction
  DROP CONSTRAINT extraction_pk,
  DROP CONSTRAINT extraction_tenant_episode_fk,
  DROP CONSTRAINT extraction_state_ck,
  ADD COLUMN record UUID,
  ADD COLUMN is_alone BOOLEAN NOT NULL DEFAULT false;

ALTER TABLE extraction ALTER COLUMN is_alone DROP DEFAULT;

-- An episode of which some parts were read is read again from its beginning: its parts are not those of its records.

UPDATE extraction SET record = episode, part = 0, attempts = 0, lease_until = '-infinity';

INSERT INTO extraction
  (tenant, record, episode, scope, sensitivity, state, part, attempts, is_alone, queued_at, next_try_at)
SELECT DISTINCT ON (x.tenant, r.id)
  x.tenant, r.id, x.episode, x.scope, x.sensitivity, x.state, 0, 0, false, x.queued_at, x.next_try_at
FROM extraction x
JOIN episode_event v ON v.tenant = x.tenant AND v.episode = x.episode
JOIN record r ON r.tenant = v.tenant AND r.id = v.record AND r.scope = x.scope AND r.sensitivity = x.sensitivity
ORDER BY x.tenant, r.id, x.state DESC;

ALTER TABLE extraction
  ALTER COLUMN record SET NOT NULL,
  ADD CONSTRAINT extraction_pk PRIMARY KEY (tenant, record),
  ADD CONSTRAINT extraction_tenant_record_fk FOREIGN KEY (tenant, record) REFERENCES record (tenant, id) ON DELETE CASCADE,
  ADD CONSTRAINT extraction_state_ck CHECK (state BETWEEN 1 AND 3);

CREATE INDEX extraction_next_try_at_ix ON extraction (next_try_at, queued_at) WHERE state <> 2;

CREATE INDEX extraction_episode_ix ON extraction (tenant, episode, record) WHERE state <> 2;

COMMENT ON COLUMN extraction.record IS 'the record that holds the text';

COMMENT ON COLUMN extraction.episode IS 'whose texts are read together; the record itself without one';

COMMENT ON COLUMN extraction.state IS '1: to be read; 2: read; 3: set aside, to be read later';

COMMENT ON COLUMN extraction.part IS 'the number of parts of a long text that have been read';

COMMENT ON COLUMN extraction.attempts IS 'at the present part';

COMMENT ON COLUMN extraction.is_alone IS 'it is read by itself, because reading it with others failed';

COMMENT ON COLUMN extraction.next_try_at IS 'later than it was queued if an attempt failed';

COMMENT ON COLUMN extraction.owner IS 'the server that reads it';

-- What is read soon belongs to a run of its own, so that it can be undone.

ALTER TABLE learning_run ADD COLUMN is_soon BOOLEAN DEFAULT false NOT NULL;

COMMENT ON COLUMN learning_run.is_soon IS 'it reads texts soon after their capture';

DROP INDEX learning_run_uq;

CREATE UNIQUE INDEX learning_run_uq ON learning_run (is_soon);

ALTER TABLE learning_report ADD COLUMN is_soon BOOLEAN DEFAULT false NOT NULL;

COMMENT ON COLUMN learning_report.is_soon IS 'of a run that reads texts soon after their capture';
