-- Like search_words (0003), as of an instant: what has not changed since is the record of now; what has, is a version,
-- and its record of now must be in sight as well. Under row-level security the GIN indexes would not be used.

GRANT SELECT (updated_at) ON record TO {search};

GRANT SELECT (tenant, id, row_version, from_at, to_at, type, scope, sensitivity, state, terms, impacts)
ON record_history TO {search};

CREATE POLICY search ON record_history FOR SELECT TO {search} USING (true);

CREATE FUNCTION search_words_at(
  any_of integer[], all_of integer[], everything boolean, vector sparsevec, types smallint[], at timestamptz, most integer
) RETURNS TABLE (id uuid, distance float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 200 SET search_path = {search_path} AS $function$
DECLARE
  conditions text[] := '{}';
  terms_together integer[];
  candidates text;
BEGIN
  IF everything THEN
    conditions := ARRAY['tenant = $1 AND scope = ANY ($3) AND sensitivity <= $4'];
  END IF;
  IF cardinality(any_of) > 0 THEN
    conditions := conditions || format('terms && %L::integer[]', any_of);
  END IF;
  IF cardinality(all_of) > 0 THEN
    FOREACH terms_together SLICE 1 IN ARRAY all_of LOOP
      conditions := conditions || format('terms @> %L::integer[]', terms_together);
    END LOOP;
  END IF;
  IF cardinality(conditions) = 0 THEN
    RETURN;
  END IF;
  candidates := array_to_string(conditions, ' OR ');
  RETURN QUERY EXECUTE format($query$
    WITH unchanged AS MATERIALIZED (
      SELECT r.id, r.tenant, r.scope, r.sensitivity, r.state, r.type, r.updated_at, r.impacts FROM record r WHERE %1$s
    ), changed AS MATERIALIZED (
      SELECT h.id, h.tenant, h.scope, h.sensitivity, h.state, h.type, h.from_at, h.to_at, h.impacts
      FROM record_history h WHERE %1$s
    ), found AS (
      SELECT u.id, u.impacts FROM unchanged u
      WHERE u.updated_at <= $7
        AND u.tenant = $1 AND ($2 OR u.scope = ANY ($3)) AND u.sensitivity <= $4 AND u.state <= 2 AND u.type = ANY ($6)
      UNION ALL
      SELECT c.id, c.impacts FROM changed c
      WHERE c.from_at <= $7 AND c.to_at > $7
        AND c.tenant = $1 AND ($2 OR c.scope = ANY ($3)) AND c.sensitivity <= $4 AND c.state <= 2 AND c.type = ANY ($6)
        AND EXISTS (
          SELECT FROM record r WHERE r.tenant = c.tenant AND r.id = c.id AND r.updated_at > $7
            AND ($2 OR r.scope = ANY ($3)) AND r.sensitivity <= $4)
    )
    SELECT f.id, f.impacts <#> $5 AS distance FROM found f ORDER BY distance, f.id LIMIT $8
  $query$, candidates)
  USING caller_tenant(), caller_has_all_scopes(), caller_scopes(), caller_ceiling(), vector, types, at, most;
END $function$;

-- What has expired, or does not hold yet, is no part of the current truth, however new.

DROP FUNCTION search_recent(smallint[], integer, integer);

CREATE FUNCTION search_recent(types smallint[], at timestamptz, looked_at integer, most integer) RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT newest.id FROM (
      SELECT r.id, r.scope, r.sensitivity, r.state, r.type, r.validity, r.occurred_at FROM record r
      WHERE r.tenant = caller_tenant() ORDER BY r.occurred_at DESC, r.id DESC LIMIT looked_at
    ) newest
    WHERE (caller_has_all_scopes() OR newest.scope = ANY (caller_scopes())) AND newest.sensitivity <= caller_ceiling()
      AND newest.state <= 2 AND newest.type = ANY (types)
      AND (newest.validity IS NULL OR newest.validity @> search_recent.at)
    ORDER BY newest.occurred_at DESC, newest.id DESC LIMIT most;
END $function$;

REVOKE ALL ON FUNCTION search_words_at, search_recent FROM PUBLIC;

GRANT EXECUTE ON FUNCTION search_words_at, search_recent TO {read};

GRANT CREATE ON SCHEMA {schema} TO {search};

ALTER FUNCTION search_words_at OWNER TO {search};

ALTER FUNCTION search_recent OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {search};
