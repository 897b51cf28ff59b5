-- Entities that were merged into others, and what each merge changed, so that it can be undone

CREATE TABLE entity_merge (
	tenant BIGINT NOT NULL,
	entity UUID NOT NULL,
	survivor UUID NOT NULL,
	merged_at TIMESTAMP WITH TIME ZONE NOT NULL,
	survivor_before BIGINT NOT NULL,
	survivor_after BIGINT NOT NULL,
	CONSTRAINT entity_merge_pk PRIMARY KEY (tenant, entity),
	CONSTRAINT entity_merge_tenant_entity_fk FOREIGN KEY(tenant, entity) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT entity_merge_tenant_survivor_fk FOREIGN KEY(tenant, survivor) REFERENCES record (tenant, id) ON DELETE CASCADE
);

CREATE INDEX entity_merge_survivor_ix ON entity_merge (tenant, survivor, merged_at);

COMMENT ON COLUMN entity_merge.survivor_before IS 'row_version of the survivor before the merge';

COMMENT ON COLUMN entity_merge.survivor_after IS 'its row_version after the merge';

CREATE TABLE entity_merge_term (
	tenant BIGINT NOT NULL,
	entity UUID NOT NULL,
	term_key BYTEA NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	kind SMALLINT NOT NULL,
	namespace_key BYTEA,
	is_shared BOOLEAN NOT NULL,
	CONSTRAINT entity_merge_term_pk PRIMARY KEY (tenant, entity, term_key, scope, sensitivity),
	CONSTRAINT entity_merge_term_tenant_entity_fk FOREIGN KEY(tenant, entity) REFERENCES entity_merge (tenant, entity) ON DELETE CASCADE,
	CONSTRAINT entity_merge_term_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id)
);

COMMENT ON COLUMN entity_merge_term.is_shared IS 'whether the survivor had this term before the merge';

CREATE TABLE entity_merge_record (
	tenant BIGINT NOT NULL,
	entity UUID NOT NULL,
	id UUID NOT NULL,
	is_subject BOOLEAN NOT NULL,
	is_object BOOLEAN NOT NULL,
	before BIGINT NOT NULL,
	after BIGINT NOT NULL,
	s FLOAT NOT NULL,
	t0 TIMESTAMP WITH TIME ZONE NOT NULL,
	last_reinforced_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT entity_merge_record_pk PRIMARY KEY (tenant, entity, id),
	CONSTRAINT entity_merge_record_tenant_entity_fk FOREIGN KEY(tenant, entity) REFERENCES entity_merge (tenant, entity) ON DELETE CASCADE,
	CONSTRAINT entity_merge_record_tenant_id_fk FOREIGN KEY(tenant, id) REFERENCES record (tenant, id) ON DELETE CASCADE
);

CREATE INDEX entity_merge_record_id_ix ON entity_merge_record (tenant, id);

COMMENT ON COLUMN entity_merge_record.is_subject IS 'a fact whose subject the merged entity was';

COMMENT ON COLUMN entity_merge_record.is_object IS 'a fact whose object the merged entity was';

COMMENT ON COLUMN entity_merge_record.before IS 'row_version before the merge';

COMMENT ON COLUMN entity_merge_record.after IS 'row_version after the merge; the same if the merge changed no content';

COMMENT ON COLUMN entity_merge_record.s IS 'its salience before the merge';

CREATE TABLE entity_merge_relation (
	tenant BIGINT NOT NULL,
	entity UUID NOT NULL,
	relation UUID NOT NULL,
	is_new BOOLEAN NOT NULL,
	CONSTRAINT entity_merge_relation_pk PRIMARY KEY (tenant, entity, relation),
	CONSTRAINT entity_merge_relation_tenant_entity_fk FOREIGN KEY(tenant, entity) REFERENCES entity_merge (tenant, entity) ON DELETE CASCADE,
	CONSTRAINT entity_merge_relation_tenant_relation_fk FOREIGN KEY(tenant, relation) REFERENCES relation (tenant, id) ON DELETE CASCADE
);

CREATE INDEX entity_merge_relation_relation_ix ON entity_merge_relation (tenant, relation);

COMMENT ON COLUMN entity_merge_relation.is_new IS 'whether the merge inserted the relation; else it ended it';

CREATE TABLE entity_merge_slot (
	tenant BIGINT NOT NULL,
	entity UUID NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	slot_key BYTEA NOT NULL,
	CONSTRAINT entity_merge_slot_pk PRIMARY KEY (tenant, entity, scope, sensitivity, slot_key),
	CONSTRAINT entity_merge_slot_tenant_entity_fk FOREIGN KEY(tenant, entity) REFERENCES entity_merge (tenant, entity) ON DELETE CASCADE,
	CONSTRAINT entity_merge_slot_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id)
);

-- Who may read and write them

ALTER TABLE entity_merge ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity_merge_term ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity_merge_record ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity_merge_relation ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity_merge_slot ENABLE ROW LEVEL SECURITY;

CREATE POLICY write ON entity_merge TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY write ON entity_merge_term TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY write ON entity_merge_record TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY write ON entity_merge_relation TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY write ON entity_merge_slot TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON entity_merge TO {jobs}, {erase} USING (true);

CREATE POLICY work ON entity_merge_term TO {jobs}, {erase} USING (true);

CREATE POLICY work ON entity_merge_record TO {jobs}, {erase} USING (true);

CREATE POLICY work ON entity_merge_relation TO {jobs}, {erase} USING (true);

CREATE POLICY work ON entity_merge_slot TO {jobs}, {erase} USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE
ON entity_merge, entity_merge_term, entity_merge_record, entity_merge_relation, entity_merge_slot TO {write};

GRANT SELECT, DELETE
ON entity_merge, entity_merge_term, entity_merge_record, entity_merge_relation, entity_merge_slot TO {jobs}, {erase};
