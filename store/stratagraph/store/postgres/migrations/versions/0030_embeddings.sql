-- Vectors of records, one for each model that embeds them

CREATE TABLE embedding_model (
	id INTEGER GENERATED ALWAYS AS IDENTITY,
	name TEXT NOT NULL,
	dimensions INTEGER NOT NULL,
	state SMALLINT NOT NULL,
	nonce UUID,
	after_tenant BIGINT,
	after_id UUID,
	records BIGINT NOT NULL,
	looked_at BIGINT NOT NULL,
	filled_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT embedding_model_pk PRIMARY KEY (id),
	CONSTRAINT embedding_model_name_dimensions_uq UNIQUE (name, dimensions),
	CONSTRAINT embedding_model_dimensions_ck CHECK (dimensions BETWEEN 1 AND 4000),
	CONSTRAINT embedding_model_state_ck CHECK (state BETWEEN 1 AND 3)
);

COMMENT ON COLUMN embedding_model.state IS '1: existing records are being embedded; 2: all have a vector; 3: another model is configured';

COMMENT ON COLUMN embedding_model.nonce IS 'that of the snapshot up to which the change log was followed';

COMMENT ON COLUMN embedding_model.filled_at IS 'when all records first had a vector; null while vectors are missing';

CREATE TABLE embedding (
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	model INTEGER NOT NULL,
	vector HALFVEC NOT NULL,
	CONSTRAINT embedding_pk PRIMARY KEY (tenant, id, model),
	CONSTRAINT embedding_tenant_id_fk FOREIGN KEY(tenant, id) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT embedding_model_fk FOREIGN KEY(model) REFERENCES embedding_model (id)
);

COMMENT ON COLUMN embedding.vector IS 'of length 1, so that the inner product of two is their cosine';

-- Who may read and write them. A writer that changes a text deletes its vectors; no caller reads one: the functions below
-- compare them.

ALTER TABLE embedding_model ENABLE ROW LEVEL SECURITY;

ALTER TABLE embedding ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE, DELETE ON embedding_model TO {feed};

GRANT SELECT ON embedding_model TO {search}, {maintenance};

GRANT SELECT, DELETE ON embedding TO {feed};

GRANT INSERT ON embedding TO {jobs};

GRANT SELECT (tenant, id, model), DELETE ON embedding TO {write}, {jobs}, {erase}, {keys};

GRANT SELECT ON embedding TO {search};

CREATE POLICY work ON embedding_model TO {feed}, {maintenance}, {search} USING (true);

CREATE POLICY work ON embedding TO {feed}, {jobs}, {erase}, {keys} USING (true);

CREATE POLICY write ON embedding TO {write} USING (tenant = caller_tenant());

CREATE POLICY search ON embedding FOR SELECT TO {search} USING (true);

-- The records nearest to a vector, of those that the caller may read in full. With `exactly`, the vectors of all these
-- records are compared, so that nothing depends on other records. Otherwise the model's index is walked until it has
-- given enough of them: pgvector goes on while the conditions leave out what it finds.

CREATE FUNCTION search_vectors_exactly(
  model_id integer, dimensions integer, question text, types smallint[], at timestamptz, lowest float8, most integer
) RETURNS TABLE (id uuid, similarity float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = {search_path} SET enable_seqscan = off SET enable_indexscan = on AS $function$
BEGIN
  RETURN QUERY EXECUTE format($query$
    WITH readable AS MATERIALIZED (
      SELECT r.tenant, r.id FROM record r
      WHERE r.tenant = $1 AND r.sensitivity <= $3 %s AND r.type = ANY ($5) AND r.state <= 2
        AND (r.validity IS NULL OR r.validity @> $6)
    ), near AS MATERIALIZED (
      SELECT e.id, -(e.vector <#> $4::halfvec) AS similarity
      FROM readable r JOIN embedding e ON e.tenant = r.tenant AND e.id = r.id AND e.model = %s
    )
    SELECT n.id, n.similarity FROM near n WHERE n.similarity >= $7 ORDER BY n.similarity DESC, n.id LIMIT $8
  $query$, CASE WHEN caller_has_all_scopes() THEN '' ELSE 'AND r.scope = ANY ($2)' END, model_id)
  USING caller_tenant(), caller_scopes(), caller_ceiling(), question, types, at, lowest, most;
END $function$;

CREATE FUNCTION search_vectors_by_index(
  model_id integer, dimensions integer, question text, types smallint[], at timestamptz, lowest float8, most integer
) RETURNS TABLE (id uuid, similarity float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = {search_path} SET enable_seqscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off SET hnsw.ef_search = 200 SET hnsw.iterative_scan = 'strict_order'
SET hnsw.max_scan_tuples = 40000 SET hnsw.scan_mem_multiplier = 8 AS $function$
BEGIN
  RETURN QUERY EXECUTE format($query$
    WITH near AS MATERIALIZED (
      SELECT e.id, -(e.vector::halfvec(%1$s) <#> $4::halfvec(%1$s)) AS similarity
      FROM embedding e
      WHERE e.model = %2$s AND e.tenant = $1 AND EXISTS (
        SELECT FROM record r WHERE r.tenant = e.tenant AND r.id = e.id AND r.sensitivity <= $3 %3$s
          AND r.type = ANY ($5) AND r.state <= 2 AND (r.validity IS NULL OR r.validity @> $6) OFFSET 0)
      ORDER BY e.vector::halfvec(%1$s) <#> $4::halfvec(%1$s) LIMIT $8
    )
    SELECT n.id, n.similarity FROM near n WHERE n.similarity >= $7 ORDER BY n.similarity DESC, n.id
  $query$, dimensions, model_id, CASE WHEN caller_has_all_scopes() THEN '' ELSE 'AND r.scope = ANY ($2)' END)
  USING caller_tenant(), caller_scopes(), caller_ceiling(), question, types, at, lowest, most;
END $function$;

REVOKE ALL ON FUNCTION search_vectors_exactly, search_vectors_by_index FROM PUBLIC;

GRANT EXECUTE ON FUNCTION search_vectors_exactly, search_vectors_by_index TO {read};

GRANT CREATE ON SCHEMA {schema} TO {search};

ALTER FUNCTION search_vectors_exactly OWNER TO {search};

ALTER FUNCTION search_vectors_by_index OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {search};

-- The index of a model is made by the job that fills it, as this table's owner

ALTER TABLE embedding OWNER TO {maintenance};
