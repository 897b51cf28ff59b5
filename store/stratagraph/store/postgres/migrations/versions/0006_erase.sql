-- Outlives its tenant, so it has no foreign key to one.
CREATE TABLE erasure (
  tenant bigint NOT NULL,
  id uuid NOT NULL,
  kind smallint NOT NULL,
  actor text NOT NULL,
  rationale text NOT NULL,
  started_at timestamptz NOT NULL,
  finished_at timestamptz,
  target_hash bytea NOT NULL,
  key_hash bytea,
  request_hash bytea,
  counts jsonb NOT NULL,
  hashes bytea[] NOT NULL,
  digest bytea NOT NULL,
  elsewhere uuid[] NOT NULL,
  elsewhere_complete boolean NOT NULL,
  CONSTRAINT erasure_pk PRIMARY KEY (tenant, id),
  CONSTRAINT erasure_kind_ck CHECK (kind BETWEEN 1 AND 4)
);

CREATE UNIQUE INDEX erasure_key_uq ON erasure (key_hash) WHERE key_hash IS NOT NULL;

CREATE UNIQUE INDEX erasure_running_uq ON erasure (target_hash) WHERE finished_at IS NULL;

COMMENT ON COLUMN erasure.kind IS '1 record, 2 entity, 3 scope, 4 tenant';

COMMENT ON COLUMN erasure.finished_at IS 'none: it was interrupted, and goes on when it is asked for again';

COMMENT ON COLUMN erasure.target_hash IS 'keyed by the tenant''s index key; of a tenant the SHA-256 of its name';

COMMENT ON COLUMN erasure.hashes IS 'keyed hashes of the ids that went, the first of them';

COMMENT ON COLUMN erasure.digest IS 'SHA-256 over all those hashes, in order';

ALTER TABLE erasure ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON erasure TO {erase};

CREATE POLICY work ON erasure TO {erase} USING (true);

-- What is erased takes its traces with it; a whole table would be read for each.
CREATE INDEX candidate_record_ix ON candidate (tenant, record) WHERE record IS NOT NULL;

-- A server that has not heard that a tenant is gone must not leave a failed capture behind.
ALTER TABLE candidate ADD CONSTRAINT candidate_tenant_fk FOREIGN KEY (tenant) REFERENCES tenant (id);

-- What a record was is rewritten where it repeats what was erased; a tenant's keys are shredded.

GRANT UPDATE (terms, impacts) ON record_history TO {erase};

GRANT UPDATE (index_key, wrapped_by) ON tenant TO {erase};

-- The audit is for ever, as long as there is a tenant whose it is.
CREATE FUNCTION forget_audit(gone bigint, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {search_path} AS $function$
DECLARE
  entries integer;
BEGIN
  IF EXISTS (SELECT FROM tenant WHERE id = gone) THEN
    RAISE insufficient_privilege USING MESSAGE = 'the audit of a tenant that is there is for ever';
  END IF;
  DELETE FROM audit_head WHERE tenant = gone AND id IN (SELECT id FROM audit_head WHERE tenant = gone LIMIT most);
  DELETE FROM audit WHERE (tenant, id, seq) IN (SELECT tenant, id, seq FROM audit WHERE tenant = gone LIMIT most);
  GET DIAGNOSTICS entries = ROW_COUNT;
  RETURN entries;
END $function$;

REVOKE ALL ON FUNCTION forget_audit FROM PUBLIC;

GRANT EXECUTE ON FUNCTION forget_audit TO {erase};
