-- How near the texts of given records are to another one, of the records that the caller may read in full

CREATE OR REPLACE FUNCTION compare_vectors(model_id integer, vector text, ids uuid[])
RETURNS TABLE (id uuid, similarity float8)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 50
SET search_path = {search_path} AS $function$
  SELECT e.id, -(e.vector <#> $2::halfvec)
  FROM embedding e JOIN record r ON r.tenant = e.tenant AND r.id = e.id
  WHERE e.tenant = caller_tenant() AND e.model = $1 AND e.id = ANY ($3)
    AND r.sensitivity <= caller_ceiling() AND (caller_has_all_scopes() OR r.scope = ANY (caller_scopes()))
$function$;
