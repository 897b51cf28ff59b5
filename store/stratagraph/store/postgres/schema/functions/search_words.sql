-- Current records that hold `at`, with `history` all; and facts, superseded ones if asked, that held in one of the
-- intervals from `since` until before `until`.

CREATE OR REPLACE FUNCTION search_words(
  any_of integer[], all_of integer[], everything boolean, vector sparsevec, types smallint[], at timestamptz,
  history boolean, cap integer, most integer, since timestamptz[] DEFAULT '{}', until timestamptz[] DEFAULT '{}',
  superseded boolean DEFAULT false
) RETURNS TABLE (id uuid, distance float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 200
SET search_path = {search_path} SET enable_seqscan = off SET enable_indexscan = off AS $function$
DECLARE
  conditions text[] := '{}';
  terms_together integer[];
BEGIN
  IF everything THEN
    conditions := ARRAY['true'];
  END IF;
  IF cardinality(any_of) > 0 THEN
    conditions := conditions || format('r.terms && %L::integer[]', any_of);
  END IF;
  IF cardinality(all_of) > 0 THEN
    FOREACH terms_together SLICE 1 IN ARRAY all_of LOOP
      conditions := conditions || format('r.terms @> %L::integer[]', terms_together);
    END LOOP;
  END IF;
  IF cardinality(conditions) = 0 THEN
    RETURN;
  END IF;
  RETURN QUERY EXECUTE format($query$
    WITH found AS MATERIALIZED (
      SELECT r.id, r.tenant, r.state, r.type, r.validity, r.impacts FROM record r WHERE %s LIMIT $10
    )
    SELECT f.id, f.impacts <#> $5 AS distance FROM found f
    WHERE f.tenant = $1 AND f.type = ANY ($6)
      AND ($7 OR (f.state <= 2 AND (f.validity IS NULL OR f.validity @> $8))
        OR (f.type = 4 AND f.state <= CASE WHEN $13 THEN 3 ELSE 2 END AND EXISTS (
          SELECT FROM unnest($11, $12) AS p(since, until) WHERE f.validity && tstzrange(p.since, p.until))))
    ORDER BY distance, f.id LIMIT $9
  $query$, array_to_string(ARRAY[
      CASE WHEN everything OR NOT caller_has_all_scopes() OR caller_ceiling() < 4 THEN
        'r.tenant = $1 AND r.sensitivity <= $4' || CASE WHEN caller_has_all_scopes() THEN '' ELSE ' AND r.scope = ANY ($3)' END END,
      '(' || array_to_string(conditions, ' OR ') || ')'
    ], ' AND '))
  USING caller_tenant(), caller_has_all_scopes(), caller_scopes(), caller_ceiling(), vector, types, history, at, most,
    cap, search_words.since, search_words.until, superseded;
END $function$;
