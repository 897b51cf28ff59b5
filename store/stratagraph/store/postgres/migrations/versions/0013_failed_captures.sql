-- What a retry of a failed capture needs besides its input

ALTER TABLE candidate ADD COLUMN batch UUID;

ALTER TABLE candidate ADD COLUMN position INTEGER;

ALTER TABLE candidate ADD COLUMN scope INTEGER;

ALTER TABLE candidate ADD COLUMN sensitivity SMALLINT;

ALTER TABLE candidate ADD COLUMN caller_scopes TEXT[];

ALTER TABLE candidate ADD COLUMN caller_ceiling SMALLINT;

COMMENT ON COLUMN candidate.batch IS 'failed captures of one request, which are retried together';

COMMENT ON COLUMN candidate.position IS 'in the batch, from 0';

COMMENT ON COLUMN candidate.scope IS 'of the record that a failed capture would become';

COMMENT ON COLUMN candidate.sensitivity IS 'of the record that a failed capture would become';

COMMENT ON COLUMN candidate.caller_scopes IS 'scopes of the caller of a failed capture; none: all of the tenant';

COMMENT ON COLUMN candidate.caller_ceiling IS 'ceiling of the caller of a failed capture; none: unknown, not retried';

-- Failed captures of before: each is a batch of its own, seen by its actor and by callers with the highest ceiling,
-- and retried only with rights that its credential still has

UPDATE candidate SET batch = id, position = 0, sensitivity = 4, next_try_at = NULL WHERE state = 'failed';

UPDATE candidate c SET caller_scopes = CASE WHEN k.all_scopes THEN NULL ELSE k.scopes END, caller_ceiling = k.ceiling
FROM credential k
WHERE c.state = 'failed' AND k.tenant = c.tenant AND k.name = c.actor AND k.revoked_at IS NULL AND k.access >= 2
  AND NOT EXISTS (
    SELECT FROM credential o WHERE o.tenant = k.tenant AND o.name = k.name AND o.id <> k.id AND o.revoked_at IS NULL);

ALTER TABLE candidate ADD CONSTRAINT candidate_failed_ck
  CHECK (state <> 'failed' OR num_nonnulls(batch, position, sensitivity) = 3);

CREATE INDEX candidate_batch_ix ON candidate (tenant, batch, position) WHERE state = 'failed';
