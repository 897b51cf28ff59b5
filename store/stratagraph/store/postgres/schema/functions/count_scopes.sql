-- The numbers of records that the caller may read in full in each of the given scopes.

CREATE OR REPLACE FUNCTION count_scopes(scopes integer[]) RETURNS TABLE (scope integer, records bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT r.scope, sum((x.cell & 536870911)::integer)
    FROM (SELECT unnest(scopes) AS scope INTERSECT SELECT unnest(caller_scopes())) r
    JOIN (
      SELECT (c.cell >> 32)::integer AS scope, c.cell FROM word_count w, unnest(w.cells) AS c(cell)
      WHERE w.tenant = caller_tenant() AND w.term = 0
    ) x ON x.scope = r.scope
    WHERE (x.cell >> 29) & 7 <= caller_ceiling()
    GROUP BY r.scope;
END $function$;
