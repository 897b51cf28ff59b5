-- The same in those of the given scopes that the caller may read.

CREATE OR REPLACE FUNCTION count_terms(terms integer[], scopes integer[]) RETURNS TABLE (term integer, records bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10 SET search_path = {search_path} AS $function$
DECLARE
  ceiling integer := caller_ceiling();
  readable integer[] := ARRAY(SELECT unnest(scopes) INTERSECT SELECT unnest(caller_scopes()));
  parts integer[] := ARRAY(SELECT -1 UNION SELECT s / 16 FROM unnest(readable) AS s);
BEGIN
  RETURN QUERY
    SELECT w.term, sum((x.cell & 536870911)::integer)
    FROM word_count w, unnest(w.cells) AS x(cell)
    WHERE w.tenant = caller_tenant() AND w.term = ANY (terms) AND w.part = ANY (parts)
      AND (x.cell >> 32)::integer = ANY (readable) AND (x.cell >> 29) & 7 <= ceiling
    GROUP BY w.term;
END $function$;
