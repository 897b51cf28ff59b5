-- Records to be compared with others that may say the same, and the pairs of them to be decided on

CREATE TABLE duplicate_due (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	CONSTRAINT duplicate_due_pk PRIMARY KEY (tenant, id),
	CONSTRAINT duplicate_due_tenant_id_fk FOREIGN KEY(tenant, id) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT duplicate_due_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id)
);

CREATE INDEX duplicate_due_group_ix ON duplicate_due (tenant, scope, sensitivity, id);

CREATE TABLE duplicate_pair (
	tenant BIGINT NOT NULL,
	one UUID NOT NULL,
	other UUID NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	state SMALLINT NOT NULL,
	score FLOAT NOT NULL,
	evidence JSONB NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT duplicate_pair_pk PRIMARY KEY (tenant, one, other),
	CONSTRAINT duplicate_pair_tenant_one_fk FOREIGN KEY(tenant, one) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT duplicate_pair_tenant_other_fk FOREIGN KEY(tenant, other) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT duplicate_pair_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id),
	CONSTRAINT duplicate_pair_order_ck CHECK (one < other),
	CONSTRAINT duplicate_pair_state_ck CHECK (state BETWEEN 1 AND 2),
	CONSTRAINT duplicate_pair_score_ck CHECK (score BETWEEN 0 AND 1)
);

CREATE INDEX duplicate_pair_other_ix ON duplicate_pair (tenant, other);

CREATE INDEX duplicate_pair_score_ix ON duplicate_pair (tenant, score DESC, one, other) WHERE state = 1;

COMMENT ON COLUMN duplicate_pair.state IS '1: to be decided on; 2: rejected';

COMMENT ON COLUMN duplicate_pair.evidence IS 'kinds of signals and their weights, no text of a record';

COMMENT ON COLUMN duplicate_pair.at IS 'when it was found, or rejected';

-- How far the change feed was followed for duplicate_due, and the existing records while these are queued

CREATE TABLE duplicate_progress (
	is_only BOOLEAN DEFAULT true NOT NULL,
	is_filling BOOLEAN NOT NULL,
	after_tenant BIGINT,
	after_id UUID,
	nonce UUID,
	CONSTRAINT duplicate_progress_pk PRIMARY KEY (is_only),
	CONSTRAINT duplicate_progress_is_only_ck CHECK (is_only)
);

COMMENT ON COLUMN duplicate_progress.is_filling IS 'whether existing records are left to be queued';

COMMENT ON COLUMN duplicate_progress.after_tenant IS 'the last record that was queued; none: no record was';

COMMENT ON COLUMN duplicate_progress.nonce IS 'that of the snapshot up to which the change log was followed';

INSERT INTO duplicate_progress (is_filling) VALUES (true);

-- Facts of one subject and object, without reading all facts about the subject

DROP INDEX fact_subject_ix;

CREATE INDEX fact_subject_ix ON fact (tenant, subject_entity, object_entity, value_key) WHERE subject_entity IS NOT NULL;

-- Entities with a name like that of another one, in one scope and sensitivity: a GIN index is not used under row-level
-- security. Only jobs and writers ask, about a record that they have read.

CREATE FUNCTION find_entities_named_alike(
  of_tenant bigint, of_scope integer, of_sensitivity integer, ids uuid[], names text[], most integer
) RETURNS TABLE (entity uuid, other uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = {search_path} SET pg_trgm.similarity_threshold = 0.3
SET enable_seqscan = off SET enable_indexscan = off AS $function$
BEGIN
  RETURN QUERY
    SELECT asked.id, r.id
    FROM unnest(ids, names) AS asked(id, name)
    CROSS JOIN LATERAL (
      WITH alike AS MATERIALIZED (
        SELECT e.id, e.tenant, e.scope, e.sensitivity, e.state, e.name FROM record e
        WHERE e.name % asked.name AND e.type = 3
      )
      SELECT a.id FROM alike a
      WHERE a.tenant = of_tenant AND a.scope = of_scope AND a.sensitivity = of_sensitivity AND a.state = 1
        AND a.id <> asked.id
      ORDER BY similarity(a.name, asked.name) DESC, a.name, a.id LIMIT most
    ) r;
END $function$;

REVOKE ALL ON FUNCTION find_entities_named_alike FROM PUBLIC;

GRANT EXECUTE ON FUNCTION find_entities_named_alike TO {jobs}, {write};

GRANT CREATE ON SCHEMA {schema} TO {search};

ALTER FUNCTION find_entities_named_alike OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {search};

-- Episodes that a language model is to read, or has read

CREATE TABLE extraction (
	tenant BIGINT NOT NULL,
	episode UUID NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	state SMALLINT NOT NULL,
	part INTEGER NOT NULL,
	attempts INTEGER NOT NULL,
	queued_at TIMESTAMP WITH TIME ZONE NOT NULL,
	next_try_at TIMESTAMP WITH TIME ZONE NOT NULL,
	owner TEXT,
	lease_until TIMESTAMP WITH TIME ZONE DEFAULT '-infinity' NOT NULL,
	CONSTRAINT extraction_pk PRIMARY KEY (tenant, episode),
	CONSTRAINT extraction_tenant_episode_fk FOREIGN KEY(tenant, episode) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT extraction_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id),
	CONSTRAINT extraction_state_ck CHECK (state BETWEEN 1 AND 2),
	CONSTRAINT extraction_counts_ck CHECK (part >= 0 AND attempts >= 0)
);

CREATE INDEX extraction_next_try_at_ix ON extraction (next_try_at, queued_at) WHERE state = 1;

COMMENT ON COLUMN extraction.state IS '1: to be read; 2: read';

COMMENT ON COLUMN extraction.part IS 'the number of parts that have been read';

COMMENT ON COLUMN extraction.attempts IS 'at the present part, since one was given up or put off';

COMMENT ON COLUMN extraction.next_try_at IS 'later than it was queued if it was set aside';

COMMENT ON COLUMN extraction.owner IS 'the server that reads it';

-- Who may read and write them

ALTER TABLE duplicate_due ENABLE ROW LEVEL SECURITY;

ALTER TABLE duplicate_progress ENABLE ROW LEVEL SECURITY;

ALTER TABLE duplicate_pair ENABLE ROW LEVEL SECURITY;

ALTER TABLE extraction ENABLE ROW LEVEL SECURITY;

CREATE POLICY write ON duplicate_due TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY write ON duplicate_pair TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY write ON extraction TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY read ON duplicate_pair TO {read} USING (
  tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling())
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY read ON extraction TO {read} USING (
  tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling())
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY work ON duplicate_due TO {feed}, {jobs}, {erase} USING (true);

CREATE POLICY work ON duplicate_progress TO {feed} USING (true);

CREATE POLICY work ON duplicate_pair TO {jobs}, {erase} USING (true);

CREATE POLICY work ON extraction TO {jobs}, {erase} USING (true);

GRANT INSERT, SELECT ON duplicate_due TO {feed};

GRANT SELECT, UPDATE ON duplicate_progress TO {feed};

GRANT SELECT, INSERT, UPDATE, DELETE ON duplicate_due TO {write}, {jobs};

GRANT SELECT, DELETE ON duplicate_due TO {erase};

GRANT SELECT ON duplicate_pair TO {read};

GRANT SELECT, INSERT, UPDATE, DELETE ON duplicate_pair TO {write}, {jobs};

GRANT SELECT, DELETE ON duplicate_pair TO {erase};

GRANT SELECT ON extraction TO {read};

GRANT SELECT, INSERT, UPDATE ON extraction TO {write}, {jobs};

GRANT SELECT, DELETE ON extraction TO {erase};
