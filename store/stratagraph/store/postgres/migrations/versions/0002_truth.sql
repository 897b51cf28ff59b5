ALTER TABLE record
  ALTER COLUMN name DROP NOT NULL,
  ALTER COLUMN text DROP NOT NULL,
  ALTER COLUMN payload DROP NOT NULL,
  ALTER COLUMN provenance DROP NOT NULL,
  ADD COLUMN sealed bytea,
  ADD CONSTRAINT record_content_ck CHECK (CASE WHEN sealed IS NULL
    THEN num_nulls(name, text, payload, provenance) = 0
    ELSE num_nonnulls(name, text, payload, provenance, interpretation) = 0 END);

ALTER TABLE record_history
  ALTER COLUMN name DROP NOT NULL,
  ALTER COLUMN text DROP NOT NULL,
  ALTER COLUMN payload DROP NOT NULL,
  ALTER COLUMN provenance DROP NOT NULL,
  ADD COLUMN sealed bytea,
  ADD CONSTRAINT record_history_content_ck CHECK (CASE WHEN sealed IS NULL
    THEN num_nulls(name, text, payload, provenance) = 0
    ELSE num_nonnulls(name, text, payload, provenance, interpretation) = 0 END);

CREATE INDEX record_history_terms_ix ON record_history USING gin (terms)
  WITH (fastupdate = on, gin_pending_list_limit = 512);

ALTER TABLE audit_note
  ALTER COLUMN rationale DROP NOT NULL,
  ADD COLUMN sealed bytea,
  ADD CONSTRAINT audit_note_rationale_ck CHECK (num_nonnulls(rationale, sealed) = 1);

ALTER TABLE candidate ALTER COLUMN source DROP NOT NULL, ADD COLUMN sealed bytea;

ALTER TABLE episode DROP COLUMN outcome_reason;

ALTER TABLE tombstone
  ADD COLUMN scope integer NOT NULL,
  ADD COLUMN sensitivity smallint NOT NULL,
  ADD COLUMN cause smallint NOT NULL,
  ADD CONSTRAINT tombstone_cause_ck CHECK (cause BETWEEN 1 AND 3),
  ADD CONSTRAINT tombstone_tenant_scope_fk FOREIGN KEY (tenant, scope) REFERENCES scope (tenant, id);

ALTER TABLE tenant
  ADD COLUMN wrapped_by text,
  DROP CONSTRAINT tenant_index_key_ck,
  ADD CONSTRAINT tenant_index_key_ck CHECK (wrapped_by IS NOT NULL OR octet_length(index_key) = 32);

COMMENT ON COLUMN candidate.source IS 'absent where the record it became is sealed';

COMMENT ON COLUMN candidate.sealed IS 'the input of what is to be sealed';

COMMENT ON COLUMN tenant.wrapped_by IS 'the master key that wraps index_key; none: it is plain';

COMMENT ON COLUMN audit_note.sealed IS 'the rationale of a record whose content is sealed';

CREATE TABLE data_key (
	tenant BIGINT NOT NULL,
	id INTEGER NOT NULL,
	wrapped BYTEA NOT NULL,
	wrapped_by TEXT NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
	CONSTRAINT data_key_pk PRIMARY KEY (tenant, id),
	CONSTRAINT data_key_tenant_fk FOREIGN KEY(tenant) REFERENCES tenant (id),
	CONSTRAINT data_key_id_ck CHECK (id >= 1)
);

COMMENT ON COLUMN data_key.id IS 'named in every envelope it seals';

COMMENT ON COLUMN data_key.wrapped_by IS 'the master key that wraps it';

COMMENT ON COLUMN record.sealed IS 'an AES-256-GCM envelope that holds all five instead';

CREATE TABLE reevaluation (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	cause UUID NOT NULL,
	queued_at TIMESTAMP WITH TIME ZONE NOT NULL,
	next_try_at TIMESTAMP WITH TIME ZONE NOT NULL,
	attempts INTEGER NOT NULL,
	error TEXT,
	CONSTRAINT reevaluation_pk PRIMARY KEY (tenant, id),
	CONSTRAINT reevaluation_tenant_id_fk FOREIGN KEY(tenant, id) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT reevaluation_attempts_ck CHECK (attempts >= 0)
);

CREATE INDEX reevaluation_next_try_ix ON reevaluation (next_try_at);

COMMENT ON COLUMN reevaluation.cause IS 'the record whose change may have taken its support';

COMMENT ON COLUMN record_history.sealed IS 'an AES-256-GCM envelope that holds all five instead';

CREATE TABLE lifecycle_history (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	to_at TIMESTAMP WITH TIME ZONE NOT NULL,
	curve SMALLINT NOT NULL,
	half_life_s FLOAT NOT NULL,
	min_salience FLOAT NOT NULL,
	max_age_s FLOAT,
	reinforcement_gain FLOAT NOT NULL,
	params JSONB,
	pinned BOOLEAN NOT NULL,
	deletion_policy SMALLINT NOT NULL,
	CONSTRAINT lifecycle_history_pk PRIMARY KEY (tenant, id, to_at),
	CONSTRAINT lifecycle_history_tenant_id_fk FOREIGN KEY(tenant, id) REFERENCES record (tenant, id) ON DELETE CASCADE
);

COMMENT ON COLUMN lifecycle_history.to_at IS 'until when it decayed like this'
