-- Vector search by the index for callers who may read little of what the index holds

-- As 0030, and with `documents`, the number of records that the caller may read in full. A walk of the index passes about
-- 2 · most · (all vectors) / documents vectors, at 17 us each, and comparing all takes 2.5 us a record (384
-- dimensions): it is taken where that is less. A walk ends after 20,000 vectors. If it has not found enough by then,
-- because what is nearest is hidden from the caller, all are compared too, of up to 100,000 records.
-- `relaxed_order` keeps vectors that are nearer than one that was given before, which `strict_order` drops; twice as many
-- as are wanted are taken, since the walk gives those of narrow scopes in an order that is not exact.

DROP FUNCTION search_vectors_by_index;

CREATE FUNCTION search_vectors_by_index(
  model_id integer, dimensions integer, question text, types smallint[], at timestamptz, lowest float8, most integer,
  documents bigint
) RETURNS TABLE (id uuid, similarity float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = {search_path} SET enable_seqscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off SET hnsw.ef_search = 200 SET hnsw.iterative_scan = 'relaxed_order'
SET hnsw.max_scan_tuples = 20000 SET hnsw.scan_mem_multiplier = 8 AS $function$
DECLARE
  ids uuid[];
  similarities float8[];
  vectors float8 := (SELECT c.reltuples FROM pg_class c WHERE c.oid = 'embedding'::regclass);  -- that of an index may be old
BEGIN
  IF documents * 2.5 * documents >= 17 * 2 * most * vectors THEN
    EXECUTE format($query$
      WITH near AS MATERIALIZED (
        SELECT e.id, -(e.vector::halfvec(%1$s) <#> $4::halfvec(%1$s)) AS similarity
        FROM embedding e
        WHERE e.model = %2$s AND e.tenant = $1 AND EXISTS (
          SELECT FROM record r WHERE r.tenant = e.tenant AND r.id = e.id AND r.sensitivity <= $3 %3$s
            AND r.type = ANY ($5) AND r.state <= 2 AND (r.validity IS NULL OR r.validity @> $6) OFFSET 0)
        ORDER BY e.vector::halfvec(%1$s) <#> $4::halfvec(%1$s) LIMIT 2 * $7
      )
      SELECT array_agg(n.id), array_agg(n.similarity) FROM near n
    $query$, dimensions, model_id, CASE WHEN caller_has_all_scopes() THEN '' ELSE 'AND r.scope = ANY ($2)' END)
    INTO ids, similarities
    USING caller_tenant(), caller_scopes(), caller_ceiling(), question, types, at, most;
    IF cardinality(ids) = 2 * most OR documents > 100000 THEN
      RETURN QUERY
        SELECT n.id, n.similarity FROM unnest(ids, similarities) AS n(id, similarity)
        WHERE n.similarity >= lowest ORDER BY n.similarity DESC, n.id LIMIT most;
      RETURN;
    END IF;
  END IF;
  RETURN QUERY SELECT s.id, s.similarity
    FROM search_vectors_exactly(model_id, dimensions, question, types, at, lowest, most) s;
END $function$;

REVOKE ALL ON FUNCTION search_vectors_by_index FROM PUBLIC;

GRANT EXECUTE ON FUNCTION search_vectors_by_index TO {read};

GRANT CREATE ON SCHEMA {schema} TO {search};

ALTER FUNCTION search_vectors_by_index OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {search};

-- A vector of over 2 kB, of at most 8,008 bytes, is kept in its row: comparing it reads one page rather than four

SET LOCAL ROLE {maintenance};

ALTER TABLE embedding ALTER COLUMN vector SET STORAGE PLAIN;

RESET ROLE;
