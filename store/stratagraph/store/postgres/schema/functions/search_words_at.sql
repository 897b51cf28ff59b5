CREATE OR REPLACE FUNCTION search_words_at(
  any_of integer[], all_of integer[], everything boolean, vector sparsevec, types smallint[], at timestamptz,
  cap integer, most integer,
  valid_at timestamptz DEFAULT NULL
) RETURNS TABLE (id uuid, distance float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 200 SET search_path = {search_path} AS $function$
DECLARE
  mask text := 'x.tenant = $1 AND x.sensitivity <= $4'
    || CASE WHEN caller_has_all_scopes() THEN '' ELSE ' AND x.scope = ANY ($3)' END;
  conditions text[] := '{}';
  terms_together integer[];
  candidates text;
BEGIN
  IF cardinality(any_of) > 0 THEN
    conditions := conditions || format('x.terms && %L::integer[]', any_of);
  END IF;
  IF cardinality(all_of) > 0 THEN
    FOREACH terms_together SLICE 1 IN ARRAY all_of LOOP
      conditions := conditions || format('x.terms @> %L::integer[]', terms_together);
    END LOOP;
  END IF;
  IF cardinality(conditions) = 0 AND NOT everything THEN
    RETURN;
  END IF;
  candidates := CASE WHEN everything THEN 'true' ELSE '(' || array_to_string(conditions, ' OR ') || ')' END;
  RETURN QUERY EXECUTE format($query$
    WITH unchanged AS MATERIALIZED (
      SELECT x.id, x.state, x.type, x.updated_at, x.validity, x.impacts FROM record x WHERE %1$s AND %2$s LIMIT $9
    ), changed AS MATERIALIZED (
      SELECT h.id, h.tenant, h.scope, h.sensitivity, h.state, h.type, h.from_at, h.to_at, h.validity, h.impacts
      FROM %3$s
    ), found AS (
      SELECT u.id, u.impacts FROM unchanged u
      WHERE u.updated_at <= $7 AND u.state <= 2 AND u.type = ANY ($6) AND (u.validity IS NULL OR u.validity @> $10)
      UNION ALL
      SELECT c.id, c.impacts FROM changed c
      WHERE c.from_at <= $7 AND c.to_at > $7
        AND c.tenant = $1 AND ($2 OR c.scope = ANY ($3)) AND c.sensitivity <= $4 AND c.state <= 2 AND c.type = ANY ($6)
        AND EXISTS (
          SELECT FROM record r WHERE r.tenant = c.tenant AND r.id = c.id AND r.updated_at > $7
            AND ($2 OR r.scope = ANY ($3)) AND r.sensitivity <= $4
            AND coalesce(coalesce(c.validity, r.validity) @> $10, true))
    )
    SELECT f.id, f.impacts <#> $5 AS distance FROM found f ORDER BY distance, f.id LIMIT $8
  $query$, mask, candidates, CASE WHEN everything
    THEN format(
      '(SELECT x.tenant, x.id FROM record x WHERE %s AND x.updated_at > $7 LIMIT $9) x'
      ' JOIN record_history h ON h.tenant = x.tenant AND h.id = x.id', mask)
    ELSE format('record_history h WHERE %s AND %s', replace(mask, 'x.', 'h.'), replace(candidates, 'x.', 'h.')) END)
  USING caller_tenant(), caller_has_all_scopes(), caller_scopes(), caller_ceiling(), vector, types, at, most, cap,
    coalesce(valid_at, at);
END $function$;
