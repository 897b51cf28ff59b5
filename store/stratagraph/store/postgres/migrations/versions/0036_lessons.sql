-- Lessons are found by the keyed hash of their task. Grants and policies of the tables cover the new columns.

ALTER TABLE record ADD COLUMN lesson_key BYTEA;

COMMENT ON COLUMN record.lesson_key IS 'keyed hash of the task of a lesson; null for any other record';

ALTER TABLE record ADD CONSTRAINT record_lesson_ck CHECK (lesson_key IS NULL OR type = 5);

CREATE INDEX record_scope_lesson_ix ON record (tenant, scope, sensitivity, occurred_at DESC, id DESC)
  WHERE lesson_key IS NOT NULL AND state <= 2;

CREATE INDEX record_level_lesson_ix ON record (tenant, sensitivity, occurred_at DESC, id DESC)
  WHERE lesson_key IS NOT NULL AND state <= 2;

-- Playbooks are logged as retrievals are.

ALTER TABLE retrieval ADD COLUMN is_playbook BOOLEAN DEFAULT false NOT NULL;

COMMENT ON COLUMN retrieval.is_playbook IS 'its records are lessons that a playbook told';

CREATE INDEX retrieval_playbook_ix ON retrieval (tenant, actor, at) WHERE is_playbook AND outcome IS NULL;

-- How often lessons were told and helped

CREATE TABLE lesson_use (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	retrievals INTEGER NOT NULL,
	helpful INTEGER NOT NULL,
	retrieved_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT lesson_use_pk PRIMARY KEY (tenant, id),
	CONSTRAINT lesson_use_tenant_id_fk FOREIGN KEY(tenant, id) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT lesson_use_counts_ck CHECK (helpful BETWEEN 0 AND retrievals)
);

COMMENT ON COLUMN lesson_use.retrievals IS 'since the payload was stored, which may have earlier ones';

COMMENT ON COLUMN lesson_use.helpful IS 'those of them that helped';

COMMENT ON COLUMN lesson_use.retrieved_at IS 'the last one';

ALTER TABLE lesson_use ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON lesson_use TO {read}, {jobs};

GRANT SELECT, INSERT, UPDATE ON lesson_use TO {write};

GRANT SELECT, DELETE ON lesson_use TO {erase};

CREATE POLICY read ON lesson_use TO {read} USING (
  (SELECT true FROM record r WHERE r.tenant = lesson_use.tenant AND r.id = lesson_use.id));

CREATE POLICY write ON lesson_use TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON lesson_use TO {jobs}, {erase} USING (true);

-- How near the texts of given records are to another one, of the records that the caller may read in full

CREATE FUNCTION compare_vectors(model_id integer, vector text, ids uuid[])
RETURNS TABLE (id uuid, similarity float8)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 50
SET search_path = {search_path} AS $function$
  SELECT e.id, -(e.vector <#> $2::halfvec)
  FROM embedding e JOIN record r ON r.tenant = e.tenant AND r.id = e.id
  WHERE e.tenant = caller_tenant() AND e.model = $1 AND e.id = ANY ($3)
    AND r.sensitivity <= caller_ceiling() AND (caller_has_all_scopes() OR r.scope = ANY (caller_scopes()))
$function$;

REVOKE ALL ON FUNCTION compare_vectors FROM PUBLIC;

GRANT EXECUTE ON FUNCTION compare_vectors TO {read};

GRANT CREATE ON SCHEMA {schema} TO {search};

ALTER FUNCTION compare_vectors OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {search};

-- Counts of what is stored, by scope, sensitivity and type, from rounds through all records

CREATE TABLE census (
	id SMALLINT NOT NULL,
	started_at TIMESTAMP WITH TIME ZONE,
	after_tenant BIGINT,
	after_id UUID,
	work_s FLOAT NOT NULL,
	counted_at TIMESTAMP WITH TIME ZONE,
	finished_at TIMESTAMP WITH TIME ZONE,
	took_s FLOAT NOT NULL,
	CONSTRAINT census_pk PRIMARY KEY (id),
	CONSTRAINT census_single_ck CHECK (id = 1)
);

COMMENT ON COLUMN census.started_at IS 'of the round that is under way; null between two rounds';

COMMENT ON COLUMN census.after_tenant IS 'key of the last record that it has counted';

COMMENT ON COLUMN census.work_s IS 'time that its pages have taken';

COMMENT ON COLUMN census.counted_at IS 'the instant as of which the last complete round counted';

COMMENT ON COLUMN census.finished_at IS 'when that round was complete';

COMMENT ON COLUMN census.took_s IS 'time that its pages took';

INSERT INTO census (id, work_s, took_s) VALUES (1, 0, 0);

CREATE TABLE census_count (
	tenant BIGINT NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	type SMALLINT NOT NULL,
	is_complete BOOLEAN NOT NULL,
	records BIGINT NOT NULL,
	active BIGINT NOT NULL,
	contested BIGINT NOT NULL,
	pinned BIGINT NOT NULL,
	revised BIGINT NOT NULL,
	created_lately BIGINT NOT NULL,
	audit_entries BIGINT NOT NULL,
	fifth_1 BIGINT NOT NULL,
	fifth_2 BIGINT NOT NULL,
	fifth_3 BIGINT NOT NULL,
	fifth_4 BIGINT NOT NULL,
	fifth_5 BIGINT NOT NULL,
	confidence FLOAT NOT NULL,
	salience FLOAT NOT NULL,
	successes FLOAT NOT NULL,
	failures FLOAT NOT NULL,
	executions FLOAT NOT NULL,
	plans FLOAT NOT NULL,
	CONSTRAINT census_count_pk PRIMARY KEY (tenant, scope, sensitivity, type, is_complete),
	CONSTRAINT census_count_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id) ON DELETE CASCADE
);

COMMENT ON COLUMN census_count.is_complete IS 'false for the round that is under way';

ALTER TABLE census ENABLE ROW LEVEL SECURITY;

ALTER TABLE census_count ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON census, census_count TO {read};

GRANT SELECT, UPDATE ON census TO {jobs};

GRANT SELECT, INSERT, UPDATE, DELETE ON census_count TO {jobs};

CREATE POLICY read ON census TO {read} USING (true);

CREATE POLICY work ON census TO {jobs} USING (true);

CREATE POLICY read ON census_count TO {read} USING (
  tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling())
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY work ON census_count TO {jobs} USING (true);
