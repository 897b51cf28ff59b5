-- The numbers of records with each of the terms that the caller may read in full, in all scopes.

CREATE OR REPLACE FUNCTION count_terms_in_all_scopes(terms integer[]) RETURNS TABLE (term integer, records bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10 SET search_path = {search_path} AS $function$
DECLARE
  ceiling integer := caller_ceiling();
BEGIN
  IF caller_has_all_scopes() THEN
    RETURN QUERY
      SELECT w.term, sum((x.cell & 536870911)::integer)
      FROM word_count w, unnest(w.cells) AS x(cell)
      WHERE w.tenant = caller_tenant() AND w.term = ANY (terms) AND w.part = -1 AND (x.cell >> 29) & 7 <= ceiling
      GROUP BY w.term;
  END IF;
END $function$;
