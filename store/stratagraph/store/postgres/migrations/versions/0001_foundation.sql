CREATE EXTENSION IF NOT EXISTS vector;

CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE EXTENSION IF NOT EXISTS btree_gist;

CREATE TABLE audit (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	seq INTEGER NOT NULL,
	action TEXT NOT NULL,
	actor TEXT NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	salience FLOAT,
	note_hash BYTEA,
	hash BYTEA NOT NULL,
	CONSTRAINT audit_pk PRIMARY KEY (tenant, id, seq),
	CONSTRAINT audit_seq_ck CHECK (seq >= 1),
	CONSTRAINT audit_hash_ck CHECK (octet_length(hash) = 32)
);

COMMENT ON COLUMN audit.salience IS 'the value a salience event left';

COMMENT ON COLUMN audit.note_hash IS 'sha256(salt ‖ rationale), so the text can go and the chain still holds';

CREATE TABLE audit_head (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	seq INTEGER NOT NULL,
	hash BYTEA NOT NULL,
	CONSTRAINT audit_head_pk PRIMARY KEY (tenant, id)
);

CREATE TABLE candidate (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	state TEXT NOT NULL,
	stage TEXT NOT NULL,
	actor TEXT NOT NULL,
	source TEXT NOT NULL,
	source_kind TEXT NOT NULL,
	input JSONB,
	error TEXT,
	attempts INTEGER NOT NULL,
	next_try_at TIMESTAMP WITH TIME ZONE,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	record UUID,
	created_records UUID[] NOT NULL,
	edges UUID[] NOT NULL,
	sequence xid8 DEFAULT pg_current_xact_id() NOT NULL,
	CONSTRAINT candidate_pk PRIMARY KEY (tenant, id),
	CONSTRAINT candidate_state_ck CHECK (state IN ('committed', 'failed')),
	CONSTRAINT candidate_record_ck CHECK ((state = 'committed') = (record IS NOT NULL))
);

CREATE INDEX candidate_retry_ix ON candidate (next_try_at) WHERE state = 'failed';

COMMENT ON COLUMN candidate.stage IS 'the last stage it reached';

COMMENT ON COLUMN candidate.input IS 'kept only while it is not committed: the record holds it afterwards';

CREATE TABLE retrieval (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	actor TEXT NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	roots UUID[] NOT NULL,
	nodes UUID[] NOT NULL,
	CONSTRAINT retrieval_pk PRIMARY KEY (tenant, id)
);

CREATE INDEX retrieval_at_ix ON retrieval (at);

CREATE TABLE artifact (
	tenant BIGINT NOT NULL,
	sha256 BYTEA NOT NULL,
	size_bytes BIGINT NOT NULL,
	media_type TEXT,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT artifact_pk PRIMARY KEY (tenant, sha256),
	CONSTRAINT artifact_sha256_ck CHECK (octet_length(sha256) = 32)
);

CREATE TABLE tombstone (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	type SMALLINT NOT NULL,
	key_hash BYTEA,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT tombstone_pk PRIMARY KEY (tenant, id)
);

CREATE INDEX tombstone_key_hash_ix ON tombstone (tenant, key_hash);

COMMENT ON COLUMN tombstone.key_hash IS 'what a background job would derive again, hashed';

CREATE TABLE fact_predicate (
	tenant BIGINT NOT NULL,
	predicate TEXT NOT NULL,
	single_valued BOOLEAN NOT NULL,
	CONSTRAINT fact_predicate_pk PRIMARY KEY (tenant, predicate)
);

CREATE TABLE sync_log (
	shard SMALLINT NOT NULL,
	xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
	seq BIGINT GENERATED ALWAYS AS IDENTITY,
	day DATE DEFAULT CURRENT_DATE NOT NULL,
	tenant BIGINT NOT NULL,
	kind SMALLINT NOT NULL,
	id UUID NOT NULL,
	version BIGINT NOT NULL,
	op CHAR(1) NOT NULL,
	CONSTRAINT sync_log_pk PRIMARY KEY (shard, xid, seq, day),
	CONSTRAINT sync_log_kind_ck CHECK (kind IN (1, 2)),
	CONSTRAINT sync_log_op_ck CHECK (op IN ('U', 'D', 'R'))
)
 PARTITION BY RANGE (day);

COMMENT ON COLUMN sync_log.kind IS '1 record, 2 relation';

COMMENT ON COLUMN sync_log.version IS 'the row_version written';

COMMENT ON COLUMN sync_log.op IS 'U upsert, D delete, R repair';

CREATE TABLE sync_tick (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	snap pg_snapshot NOT NULL,
	at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	nonce UUID DEFAULT gen_random_uuid() NOT NULL,
	CONSTRAINT sync_tick_pk PRIMARY KEY (id)
);

CREATE TABLE sync_cursor (
	consumer TEXT NOT NULL,
	shard SMALLINT NOT NULL,
	tick BIGINT NOT NULL,
	win_tick BIGINT,
	win_seq BIGINT DEFAULT 0 NOT NULL,
	owner TEXT,
	epoch BIGINT DEFAULT 0 NOT NULL,
	lease_until TIMESTAMP WITH TIME ZONE DEFAULT '-infinity' NOT NULL,
	fails INTEGER DEFAULT 0 NOT NULL,
	CONSTRAINT sync_cursor_pk PRIMARY KEY (consumer, shard)
);

COMMENT ON COLUMN sync_cursor.tick IS 'everything this tick''s snapshot saw is applied';

COMMENT ON COLUMN sync_cursor.win_tick IS 'the end of the window being read';

CREATE TABLE sync_parked (
	consumer TEXT NOT NULL,
	tenant BIGINT NOT NULL,
	kind SMALLINT NOT NULL,
	id UUID NOT NULL,
	version BIGINT NOT NULL,
	error TEXT NOT NULL,
	tries INTEGER NOT NULL,
	next_try TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT sync_parked_pk PRIMARY KEY (consumer, tenant, kind, id)
);

CREATE TABLE mirror_generation (
	mirror TEXT NOT NULL,
	generation BIGINT NOT NULL,
	state TEXT NOT NULL,
	incarnation TEXT NOT NULL,
	started_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	completed_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT mirror_generation_pk PRIMARY KEY (mirror, generation),
	CONSTRAINT mirror_generation_state_ck CHECK (state IN ('building', 'active', 'retired'))
);

COMMENT ON COLUMN mirror_generation.incarnation IS 'system identifier, timeline, database oid';

CREATE TABLE doc_counter (
	tenant BIGINT NOT NULL,
	next BIGINT NOT NULL,
	CONSTRAINT doc_counter_pk PRIMARY KEY (tenant)
);

CREATE TABLE lex_df (
	tenant BIGINT NOT NULL,
	term INTEGER NOT NULL,
	df BIGINT NOT NULL,
	CONSTRAINT lex_df_pk PRIMARY KEY (tenant, term)
);

CREATE TABLE lex_stat (
	tenant BIGINT NOT NULL,
	docs BIGINT NOT NULL,
	CONSTRAINT lex_stat_pk PRIMARY KEY (tenant)
);

CREATE TABLE lex_scope (
	tenant BIGINT NOT NULL,
	scope INTEGER NOT NULL,
	docs BIGINT NOT NULL,
	CONSTRAINT lex_scope_pk PRIMARY KEY (tenant, scope)
);

CREATE TABLE tenant (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	name TEXT NOT NULL,
	index_key BYTEA NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
	CONSTRAINT tenant_pk PRIMARY KEY (id),
	CONSTRAINT tenant_index_key_ck CHECK (octet_length(index_key) = 32),
	CONSTRAINT tenant_name_uq UNIQUE (name)
);

COMMENT ON COLUMN tenant.index_key IS 'keys all term numbers and lookup hashes';

CREATE TABLE predicate (
	tenant BIGINT NOT NULL,
	id INTEGER GENERATED ALWAYS AS IDENTITY,
	name TEXT NOT NULL,
	CONSTRAINT predicate_pk PRIMARY KEY (tenant, id),
	CONSTRAINT predicate_tenant_name_uq UNIQUE (tenant, name),
	CONSTRAINT predicate_name_ck CHECK (name ~ '^[a-z][a-z0-9_]{0,62}$')
);

CREATE TABLE audit_note (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	seq INTEGER NOT NULL,
	salt BYTEA NOT NULL,
	rationale TEXT NOT NULL,
	CONSTRAINT audit_note_pk PRIMARY KEY (tenant, id, seq),
	CONSTRAINT audit_note_tenant_id_seq_fk FOREIGN KEY(tenant, id, seq) REFERENCES audit (tenant, id, seq)
);

CREATE TABLE idempotency (
	tenant BIGINT NOT NULL,
	actor TEXT NOT NULL,
	key_hash BYTEA NOT NULL,
	request_hash BYTEA NOT NULL,
	candidate UUID NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT idempotency_pk PRIMARY KEY (tenant, actor, key_hash),
	CONSTRAINT idempotency_tenant_candidate_fk FOREIGN KEY(tenant, candidate) REFERENCES candidate (tenant, id) ON DELETE CASCADE
);

CREATE TABLE scope (
	id INTEGER GENERATED ALWAYS AS IDENTITY,
	tenant BIGINT NOT NULL,
	name TEXT NOT NULL,
	CONSTRAINT scope_pk PRIMARY KEY (id),
	CONSTRAINT scope_tenant_name_uq UNIQUE (tenant, name),
	CONSTRAINT scope_tenant_id_uq UNIQUE (tenant, id),
	CONSTRAINT scope_tenant_fk FOREIGN KEY(tenant) REFERENCES tenant (id)
);

COMMENT ON COLUMN scope.name IS ''''' is unscoped';

CREATE TABLE credential (
	id UUID NOT NULL,
	tenant BIGINT NOT NULL,
	name TEXT NOT NULL,
	secret_sha256 BYTEA NOT NULL,
	access SMALLINT NOT NULL,
	ceiling SMALLINT NOT NULL,
	all_scopes BOOLEAN NOT NULL,
	scopes TEXT[] NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
	expires_at TIMESTAMP WITH TIME ZONE,
	revoked_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT credential_pk PRIMARY KEY (id),
	CONSTRAINT credential_access_ck CHECK (access BETWEEN 1 AND 3),
	CONSTRAINT credential_ceiling_ck CHECK (ceiling BETWEEN 0 AND 4),
	CONSTRAINT credential_secret_ck CHECK (octet_length(secret_sha256) = 32),
	CONSTRAINT credential_tenant_fk FOREIGN KEY(tenant) REFERENCES tenant (id)
);

COMMENT ON COLUMN credential.name IS 'for people; also the actor of what it writes';

CREATE TABLE fact_slot (
	tenant BIGINT NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	slot_key BYTEA NOT NULL,
	single_valued BOOLEAN NOT NULL,
	CONSTRAINT fact_slot_pk PRIMARY KEY (tenant, scope, sensitivity, slot_key),
	CONSTRAINT fact_slot_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id),
	CONSTRAINT fact_slot_tenant_scope_sensitivity_slot_key_single_valued_uq UNIQUE (tenant, scope, sensitivity, slot_key, single_valued)
);

CREATE TABLE record (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	doc BIGINT NOT NULL,
	type SMALLINT NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	state SMALLINT NOT NULL,
	confidence FLOAT NOT NULL,
	tags TEXT[] NOT NULL,
	name TEXT NOT NULL,
	text TEXT NOT NULL,
	payload JSONB NOT NULL,
	provenance JSONB NOT NULL,
	interpretation JSONB,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	occurred_at TIMESTAMP WITH TIME ZONE NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
	version INTEGER NOT NULL,
	row_version BIGINT NOT NULL,
	handle_key BYTEA,
	fact_key BYTEA,
	slot_key BYTEA,
	condition_key BYTEA,
	single_valued BOOLEAN,
	validity TSTZRANGE,
	terms INTEGER[] NOT NULL,
	impacts sparsevec(1000000000) NOT NULL,
	CONSTRAINT record_pk PRIMARY KEY (tenant, id) INCLUDE (scope, sensitivity, state),
	CONSTRAINT record_tenant_doc_uq UNIQUE (tenant, doc),
	CONSTRAINT record_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id),
	CONSTRAINT record_slot_fk FOREIGN KEY(tenant, scope, sensitivity, slot_key, single_valued) REFERENCES fact_slot (tenant, scope, sensitivity, slot_key, single_valued) ON UPDATE CASCADE,
	CONSTRAINT record_type_ck CHECK (type BETWEEN 1 AND 6),
	CONSTRAINT record_sensitivity_ck CHECK (sensitivity BETWEEN 0 AND 4),
	CONSTRAINT record_state_ck CHECK (state BETWEEN 1 AND 4),
	CONSTRAINT record_confidence_ck CHECK (confidence BETWEEN 0 AND 1),
	CONSTRAINT record_versions_ck CHECK (version >= 1 AND row_version >= 1),
	CONSTRAINT record_fact_keys_ck CHECK ((type = 4) = (fact_key IS NOT NULL) AND (type = 4) = (slot_key IS NOT NULL) AND (type = 4) = (condition_key IS NOT NULL) AND (type = 4) = (single_valued IS NOT NULL) AND (type = 4) = (validity IS NOT NULL)),
	CONSTRAINT record_single_value_excl EXCLUDE USING gist (tenant WITH =, scope WITH =, sensitivity WITH =, slot_key WITH =, condition_key WITH =, validity WITH &&) WHERE (state = 1 AND single_valued)
);

CREATE INDEX record_scope_ix ON record (tenant, scope, sensitivity);

CREATE INDEX record_terms_ix ON record USING gin (terms) WITH (fastupdate = on, gin_pending_list_limit = 512);

CREATE UNIQUE INDEX record_working_uq ON record (tenant, scope, sensitivity, handle_key) WHERE type = 2 AND state = 1;

CREATE INDEX record_recent_ix ON record (tenant, occurred_at DESC, id DESC);

CREATE UNIQUE INDEX record_active_fact_uq ON record (tenant, scope, sensitivity, fact_key) WHERE type = 4 AND state = 1;

CREATE INDEX record_listed_ix ON record (tenant, id DESC) INCLUDE (scope, sensitivity, type);

CREATE INDEX record_handle_ix ON record (tenant, handle_key) WHERE handle_key IS NOT NULL;

CREATE INDEX record_slot_ix ON record (tenant, scope, sensitivity, slot_key) WHERE type = 4;

COMMENT ON COLUMN record.doc IS 'dense per tenant, new on every edit of the text';

COMMENT ON COLUMN record.handle_key IS 'keyed hash of plan_id, skill_name or thread_id';

CREATE TABLE artifact_reference (
	tenant BIGINT NOT NULL,
	sha256 BYTEA NOT NULL,
	record UUID NOT NULL,
	CONSTRAINT artifact_reference_pk PRIMARY KEY (tenant, sha256, record),
	CONSTRAINT artifact_reference_tenant_sha256_fk FOREIGN KEY(tenant, sha256) REFERENCES artifact (tenant, sha256),
	CONSTRAINT artifact_reference_tenant_record_fk FOREIGN KEY(tenant, record) REFERENCES record (tenant, id) ON DELETE CASCADE
);

CREATE INDEX artifact_reference_record_ix ON artifact_reference (tenant, record);

CREATE TABLE entity_term (
	tenant BIGINT NOT NULL,
	term_key BYTEA NOT NULL,
	entity UUID NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	kind SMALLINT NOT NULL,
	claimed BOOLEAN NOT NULL,
	CONSTRAINT entity_term_pk PRIMARY KEY (tenant, term_key, entity),
	CONSTRAINT entity_term_tenant_entity_fk FOREIGN KEY(tenant, entity) REFERENCES record (tenant, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	CONSTRAINT entity_term_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id),
	CONSTRAINT entity_term_kind_ck CHECK (kind BETWEEN 1 AND 3),
	CONSTRAINT entity_term_identifiers_are_claimed_ck CHECK (claimed OR kind <> 1)
);

CREATE INDEX entity_term_entity_ix ON entity_term (tenant, entity);

CREATE UNIQUE INDEX entity_term_claim_uq ON entity_term (tenant, scope, sensitivity, term_key) WHERE claimed;

COMMENT ON COLUMN entity_term.kind IS '1 identifier, 2 name, 3 alias';

COMMENT ON COLUMN entity_term.claimed IS 'the one entity this term resolves to';

CREATE TABLE episode (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	thread_key BYTEA NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	opened_at TIMESTAMP WITH TIME ZONE NOT NULL,
	closes_at TIMESTAMP WITH TIME ZONE NOT NULL,
	closed_at TIMESTAMP WITH TIME ZONE,
	outcome SMALLINT,
	outcome_reason TEXT,
	events INTEGER NOT NULL,
	last_record UUID,
	CONSTRAINT episode_pk PRIMARY KEY (tenant, id),
	CONSTRAINT episode_tenant_id_fk FOREIGN KEY(tenant, id) REFERENCES record (tenant, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	CONSTRAINT episode_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id),
	CONSTRAINT episode_outcome_ck CHECK (outcome BETWEEN 1 AND 3),
	CONSTRAINT episode_events_ck CHECK (events >= 0)
);

CREATE INDEX episode_thread_ix ON episode (tenant, thread_key, opened_at DESC);

CREATE INDEX episode_closes_ix ON episode (closes_at) WHERE closed_at IS NULL;

CREATE UNIQUE INDEX episode_open_uq ON episode (tenant, scope, sensitivity, thread_key) WHERE closed_at IS NULL;

COMMENT ON COLUMN episode.closes_at IS 'when silence closes it';

CREATE TABLE record_history (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	row_version BIGINT NOT NULL,
	from_at TIMESTAMP WITH TIME ZONE NOT NULL,
	to_at TIMESTAMP WITH TIME ZONE NOT NULL,
	type SMALLINT NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	state SMALLINT NOT NULL,
	confidence FLOAT NOT NULL,
	tags TEXT[] NOT NULL,
	name TEXT NOT NULL,
	text TEXT NOT NULL,
	payload JSONB NOT NULL,
	provenance JSONB NOT NULL,
	interpretation JSONB,
	occurred_at TIMESTAMP WITH TIME ZONE NOT NULL,
	version INTEGER NOT NULL,
	terms INTEGER[] NOT NULL,
	impacts sparsevec(1000000000) NOT NULL,
	CONSTRAINT record_history_pk PRIMARY KEY (tenant, id, row_version),
	CONSTRAINT record_history_tenant_id_fk FOREIGN KEY(tenant, id) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT record_history_span_ck CHECK (from_at < to_at)
);

CREATE TABLE salience (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	s FLOAT NOT NULL,
	t0 TIMESTAMP WITH TIME ZONE NOT NULL,
	curve SMALLINT NOT NULL,
	half_life_s FLOAT NOT NULL,
	min_salience FLOAT NOT NULL,
	max_age_s FLOAT,
	reinforcement_gain FLOAT NOT NULL,
	params JSONB,
	pinned BOOLEAN NOT NULL,
	deletion_policy SMALLINT NOT NULL,
	due_at TIMESTAMP WITH TIME ZONE,
	last_reinforced_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT salience_pk PRIMARY KEY (tenant, id),
	CONSTRAINT salience_tenant_id_fk FOREIGN KEY(tenant, id) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT salience_s_ck CHECK (s BETWEEN 0 AND 1),
	CONSTRAINT salience_curve_ck CHECK (curve BETWEEN 1 AND 3),
	CONSTRAINT salience_half_life_ck CHECK (half_life_s >= 1),
	CONSTRAINT salience_floor_ck CHECK (min_salience BETWEEN 0 AND 1),
	CONSTRAINT salience_max_age_ck CHECK (max_age_s >= 1),
	CONSTRAINT salience_deletion_policy_ck CHECK (deletion_policy BETWEEN 1 AND 3)
);

CREATE INDEX salience_due_ix ON salience (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE relation (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	source UUID NOT NULL,
	target UUID NOT NULL,
	predicate INTEGER NOT NULL,
	weight FLOAT NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	ended_at TIMESTAMP WITH TIME ZONE,
	row_version BIGINT NOT NULL,
	CONSTRAINT relation_pk PRIMARY KEY (tenant, id),
	CONSTRAINT relation_tenant_predicate_fk FOREIGN KEY(tenant, predicate) REFERENCES predicate (tenant, id),
	CONSTRAINT relation_tenant_source_fk FOREIGN KEY(tenant, source) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT relation_tenant_target_fk FOREIGN KEY(tenant, target) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT relation_weight_ck CHECK (weight BETWEEN 0 AND 1)
);

CREATE UNIQUE INDEX relation_live_uq ON relation (tenant, source, predicate, target) WHERE ended_at IS NULL;

CREATE INDEX relation_out_ix ON relation (tenant, source, weight DESC, id) INCLUDE (target, predicate) WHERE ended_at IS NULL;

CREATE INDEX relation_in_ix ON relation (tenant, target, weight DESC, id) INCLUDE (source, predicate) WHERE ended_at IS NULL;

COMMENT ON COLUMN relation.ended_at IS 'relations never change; an end closes them';

CREATE TABLE episode_event (
	tenant BIGINT NOT NULL,
	episode UUID NOT NULL,
	position INTEGER NOT NULL,
	record UUID NOT NULL,
	call_key BYTEA,
	CONSTRAINT episode_event_pk PRIMARY KEY (tenant, episode, position),
	CONSTRAINT episode_event_tenant_episode_fk FOREIGN KEY(tenant, episode) REFERENCES episode (tenant, id) ON DELETE CASCADE,
	CONSTRAINT episode_event_tenant_record_fk FOREIGN KEY(tenant, record) REFERENCES record (tenant, id) ON DELETE CASCADE
);

CREATE INDEX episode_event_call_ix ON episode_event (tenant, episode, call_key) WHERE call_key IS NOT NULL;

CREATE INDEX episode_event_record_ix ON episode_event (tenant, record);

COMMENT ON COLUMN episode_event.position IS 'order of arrival';

COMMENT ON COLUMN episode_event.call_key IS 'keyed hash of a tool call''s id, for depends_on';

CREATE TABLE sync_log_default PARTITION OF sync_log DEFAULT;

INSERT INTO sync_tick (snap) VALUES (pg_current_snapshot());

INSERT INTO sync_cursor (consumer, shard, tick) SELECT 'words', 0, id FROM sync_tick;
