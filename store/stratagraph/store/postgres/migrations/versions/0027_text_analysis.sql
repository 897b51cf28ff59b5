-- Tenants whose records have the terms of an earlier analysis: the job `analyse-words` adds those of the present one

CREATE TABLE reanalysis (
	tenant BIGINT NOT NULL,
	after UUID,
	CONSTRAINT reanalysis_pk PRIMARY KEY (tenant),
	CONSTRAINT reanalysis_tenant_fk FOREIGN KEY(tenant) REFERENCES tenant (id)
);

COMMENT ON COLUMN reanalysis.after IS 'the last record that has its new terms; none: no record has';

INSERT INTO reanalysis (tenant) SELECT id FROM tenant;

ALTER TABLE reanalysis ENABLE ROW LEVEL SECURITY;

CREATE POLICY work ON reanalysis TO {jobs}, {erase} USING (true);

GRANT SELECT, UPDATE, DELETE ON reanalysis TO {jobs};

GRANT SELECT, DELETE ON reanalysis TO {erase};

-- Names of entities with a typo. Sealed names are not in the column, so no trigram of them is at rest. A GIN index is not
-- used under row-level security, so the function checks the caller's trust itself, as search_words does.

CREATE INDEX record_name_ix ON record USING gin (name gin_trgm_ops) WHERE type = 3;

CREATE FUNCTION find_similar_names(words text[], most integer)
RETURNS TABLE (entity uuid, word text, name text, similarity real)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20
SET search_path = {search_path} SET pg_trgm.strict_word_similarity_threshold = 0.3
SET enable_seqscan = off SET enable_indexscan = off AS $function$
BEGIN
  RETURN QUERY
    SELECT r.id, asked.word, r.name, r.similarity
    FROM unnest(words) AS asked(word)
    CROSS JOIN LATERAL (
      SELECT e.id, e.name, strict_word_similarity(asked.word, e.name) AS similarity
      FROM record e
      WHERE asked.word <<% e.name AND e.type = 3 AND e.tenant = caller_tenant() AND e.state <= 2
        AND e.sensitivity <= caller_ceiling() AND (caller_has_all_scopes() OR e.scope = ANY (caller_scopes()))
      ORDER BY similarity DESC, e.id LIMIT most
    ) r;
END $function$;

REVOKE ALL ON FUNCTION find_similar_names FROM PUBLIC;

GRANT EXECUTE ON FUNCTION find_similar_names TO {read};

GRANT SELECT (name) ON record TO {search};

GRANT CREATE ON SCHEMA {schema} TO {search};

ALTER FUNCTION find_similar_names OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {search};
