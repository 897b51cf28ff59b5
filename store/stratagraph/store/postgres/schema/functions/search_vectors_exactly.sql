-- The records nearest to a vector, of those that the caller may read in full. With `exactly`, the vectors of all these
-- records are compared, so that nothing depends on other records. Otherwise the model's index is walked until it has
-- given enough of them: pgvector goes on while the conditions leave out what it finds.

CREATE OR REPLACE FUNCTION search_vectors_exactly(
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
