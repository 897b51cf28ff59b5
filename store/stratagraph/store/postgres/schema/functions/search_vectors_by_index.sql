CREATE OR REPLACE FUNCTION search_vectors_by_index(
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
