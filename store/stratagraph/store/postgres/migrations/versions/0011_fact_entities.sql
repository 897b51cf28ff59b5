-- Terms: several entities may share a name; only an identifier belongs to one entity of a scope and sensitivity

DROP INDEX entity_term_claim_uq;

ALTER TABLE entity_term DROP CONSTRAINT entity_term_identifiers_are_claimed_ck;

ALTER TABLE entity_term DROP COLUMN claimed;

ALTER TABLE entity_term ADD COLUMN namespace_key BYTEA;

ALTER TABLE entity_term DROP CONSTRAINT entity_term_kind_ck;

ALTER TABLE entity_term ADD CONSTRAINT entity_term_kind_ck CHECK (kind BETWEEN 1 AND 4);

ALTER TABLE entity_term ADD CONSTRAINT entity_term_namespace_ck CHECK (kind = 1 OR namespace_key IS NULL);

ALTER TABLE entity_term DROP CONSTRAINT entity_term_pk;

ALTER TABLE entity_term ADD CONSTRAINT entity_term_pk PRIMARY KEY (tenant, term_key, entity, scope, sensitivity);

CREATE UNIQUE INDEX entity_term_identifier_uq ON entity_term (tenant, scope, sensitivity, term_key) WHERE kind = 1;

COMMENT ON COLUMN entity_term.kind IS '1 identifier, 2 name, 3 alias, 4 type';

COMMENT ON COLUMN entity_term.namespace_key IS 'keyed hash of an identifier''s namespace';

-- What identifies a fact, so that a merge can compute its keys again without reading its content

CREATE TABLE fact (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	subject_entity UUID,
	subject_key BYTEA,
	subject_is_ambiguous BOOLEAN NOT NULL,
	predicate_key BYTEA NOT NULL,
	object_entity UUID,
	value_key BYTEA,
	stated_key BYTEA NOT NULL,
	stated TSTZRANGE NOT NULL,
	evidence_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT fact_pk PRIMARY KEY (tenant, id),
	CONSTRAINT fact_tenant_id_fk FOREIGN KEY(tenant, id) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT fact_subject_ck CHECK (num_nonnulls(subject_entity, subject_key) = 1),
	CONSTRAINT fact_object_ck CHECK (num_nonnulls(object_entity, value_key) = 1)
);

CREATE INDEX fact_subject_ix ON fact (tenant, subject_entity) WHERE subject_entity IS NOT NULL;

CREATE INDEX fact_object_ix ON fact (tenant, object_entity) WHERE object_entity IS NOT NULL;

COMMENT ON COLUMN fact.subject_key IS 'keyed hash of a subject that is no entity';

COMMENT ON COLUMN fact.value_key IS 'keyed hash of an object that is no entity';

COMMENT ON COLUMN fact.stated IS 'validity as stated; record.validity is the effective one';

COMMENT ON COLUMN fact.evidence_at IS 'time of its latest evidence';

CREATE TABLE fact_trim (
	tenant BIGINT NOT NULL,
	fact UUID NOT NULL,
	by_fact UUID NOT NULL,
	side SMALLINT NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT fact_trim_pk PRIMARY KEY (tenant, fact, by_fact, side),
	CONSTRAINT fact_trim_tenant_fact_fk FOREIGN KEY(tenant, fact) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT fact_trim_tenant_by_fact_fk FOREIGN KEY(tenant, by_fact) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT fact_trim_side_ck CHECK (side BETWEEN 1 AND 2)
);

CREATE INDEX fact_trim_by_ix ON fact_trim (tenant, by_fact);

COMMENT ON COLUMN fact_trim.side IS '1 where it begins, 2 where it ends';

CREATE INDEX record_contested_fact_ix ON record (tenant, scope, sensitivity, slot_key, fact_key) WHERE type = 4 AND state = 2;

ALTER TABLE record_history ADD COLUMN validity TSTZRANGE;

COMMENT ON COLUMN record_history.validity IS 'null for a fact that an earlier release wrote';

-- What the objects of a predicate are

ALTER TABLE fact_predicate ADD COLUMN object_kind TEXT;

ALTER TABLE fact_predicate ADD CONSTRAINT fact_predicate_object_kind_ck CHECK (object_kind IN ('entity', 'literal'));

-- Entities whose names earlier records may hold: the job link-names links these records

CREATE TABLE link_request (
	tenant BIGINT NOT NULL,
	entity UUID NOT NULL,
	queued_at TIMESTAMP WITH TIME ZONE NOT NULL,
	next_try_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT link_request_pk PRIMARY KEY (tenant, entity),
	CONSTRAINT link_request_tenant_entity_fk FOREIGN KEY(tenant, entity) REFERENCES record (tenant, id) ON DELETE CASCADE
);

CREATE INDEX link_request_next_try_at_ix ON link_request (next_try_at);

-- Tenants whose names and facts still have the keys of before this migration: the job rekey computes them again

CREATE TABLE rekeying (
	tenant BIGINT NOT NULL,
	after UUID,
	CONSTRAINT rekeying_pk PRIMARY KEY (tenant),
	CONSTRAINT rekeying_tenant_fk FOREIGN KEY(tenant) REFERENCES tenant (id)
);

COMMENT ON COLUMN rekeying.after IS 'the last record that has its new keys; none: no record has';

INSERT INTO rekeying (tenant) SELECT id FROM tenant;

-- Who may read and write them

ALTER TABLE fact ENABLE ROW LEVEL SECURITY;

ALTER TABLE fact_trim ENABLE ROW LEVEL SECURITY;

ALTER TABLE link_request ENABLE ROW LEVEL SECURITY;

ALTER TABLE rekeying ENABLE ROW LEVEL SECURITY;

CREATE POLICY write ON fact TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY write ON fact_trim TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY write ON link_request TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON fact TO {jobs}, {erase} USING (true);

CREATE POLICY work ON fact_trim TO {jobs}, {erase} USING (true);

CREATE POLICY work ON link_request TO {jobs}, {erase} USING (true);

CREATE POLICY work ON rekeying TO {jobs}, {erase} USING (true);

CREATE POLICY read ON fact_predicate TO {read} USING (tenant = (SELECT caller_tenant()));

GRANT SELECT ON fact_predicate TO {read};

GRANT UPDATE (validity) ON record_history TO {erase};

GRANT SELECT, INSERT, UPDATE, DELETE ON fact, fact_trim TO {write}, {jobs}, {erase};

GRANT SELECT, INSERT, UPDATE ON link_request TO {write};

GRANT SELECT, INSERT, UPDATE, DELETE ON link_request TO {jobs}, {erase};

GRANT SELECT, UPDATE, DELETE ON rekeying TO {jobs};

GRANT SELECT, DELETE ON rekeying TO {erase};

GRANT SELECT, INSERT, UPDATE ON fact_predicate, fact_slot TO {jobs};

