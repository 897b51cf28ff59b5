-- Records by when they occurred: those of the times that a question names, from the indexes that have the newest records

-- As 0022, and with `since` the newest of the records that occurred from then on and before `until`

DROP FUNCTION newest_readable;

CREATE FUNCTION newest_readable(
  below uuid, looked_at integer, since timestamptz DEFAULT NULL, until timestamptz DEFAULT NULL
)
RETURNS TABLE (
  id uuid, scope integer, sensitivity smallint, state smallint, type smallint, validity tstzrange,
  created_at timestamptz, updated_at timestamptz, occurred_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 400 SET search_path = {search_path} AS $function$
DECLARE
  all_scopes boolean := caller_has_all_scopes();
  key text := CASE WHEN below IS NULL THEN '(r.occurred_at, r.id)' ELSE '(r.id)' END;
  ordering text := CASE WHEN below IS NULL THEN 'r.occurred_at DESC, r.id DESC' ELSE 'r.id DESC' END;
  list text := 'SELECT r.occurred_at, r.id FROM record r WHERE r.tenant = $1 AND r.sensitivity = p.level'
    || CASE WHEN all_scopes THEN '' ELSE ' AND r.scope = p.scope' END
    || CASE WHEN below IS NULL THEN '' ELSE ' AND r.id < $2' END
    || CASE WHEN since IS NULL THEN '' ELSE format(' AND r.occurred_at >= %L AND r.occurred_at < %L', since, until) END;
  bound text := '';
  scopes integer[];
  levels integer[];
  taken integer := looked_at;
  found uuid[];
  last_at timestamptz;
  last_id uuid;
  is_incomplete boolean;
BEGIN
  IF all_scopes THEN
    levels := ARRAY(SELECT generate_series(0, caller_ceiling()));
    scopes := array_fill(0, ARRAY[cardinality(levels)]);
  ELSE
    scopes := caller_scopes();
    IF cardinality(scopes) * (caller_ceiling() + 1) > 5000 THEN
      scopes := ARRAY(
        SELECT c.scope FROM count_scopes(scopes) c ORDER BY c.records DESC, c.scope LIMIT 5000 / (caller_ceiling() + 1));
    END IF;
    EXECUTE format($query$
      SELECT array_agg(p.scope), array_agg(p.level) FROM (
        SELECT p.scope, p.level
        FROM (SELECT s.scope, l.level FROM unnest($4) AS s(scope), generate_series(0, $5) AS l(level)) p
        CROSS JOIN LATERAL (%1$s ORDER BY %2$s LIMIT 1) r
        ORDER BY %2$s LIMIT $3
      ) p
    $query$, list, ordering)
    INTO scopes, levels USING caller_tenant(), below, looked_at, scopes, caller_ceiling();
    taken := least(looked_at, greatest(8, 4 * looked_at / greatest(cardinality(scopes), 1)));
  END IF;
  LOOP
    EXECUTE format($query$
      WITH listed AS MATERIALIZED (
        SELECT r.occurred_at, r.id, r.place FROM unnest($4, $5) AS p(scope, level)
        CROSS JOIN LATERAL (
          SELECT r.occurred_at, r.id, row_number() OVER (ORDER BY %2$s) AS place
          FROM (%1$s %3$s ORDER BY %2$s LIMIT $6) r
        ) r
      ), newest AS MATERIALIZED (
        SELECT r.occurred_at, r.id, row_number() OVER (ORDER BY %2$s) AS place FROM listed r ORDER BY %2$s LIMIT $3
      )
      SELECT (SELECT array_agg(n.id) FROM newest n), l.occurred_at, l.id,
        EXISTS (SELECT FROM listed r WHERE r.place = $6 AND (l.id IS NULL OR %4$s >= %5$s))
      FROM (VALUES (1)) AS one(n) LEFT JOIN newest l ON l.place = $3
    $query$, list, ordering, bound, key, replace(key, 'r.', 'l.'))
    INTO found, last_at, last_id, is_incomplete
    USING caller_tenant(), below, looked_at, scopes, levels, taken, last_at, last_id;
    EXIT WHEN NOT is_incomplete OR taken >= looked_at;
    taken := least(looked_at, 2 * taken);
    IF last_id IS NOT NULL THEN
      bound := ' AND ' || key || ' >= ' || CASE WHEN below IS NULL THEN '($7, $8)' ELSE '($8)' END;
    END IF;
  END LOOP;
  RETURN QUERY
    SELECT r.id, r.scope, r.sensitivity, r.state, r.type, r.validity, r.created_at, r.updated_at, r.occurred_at
    FROM record r WHERE r.tenant = caller_tenant() AND r.id = ANY (found);
END $function$;

-- At most `most` of the records that the caller may read in full and that occurred in one of the intervals: of the newest
-- `looked_at` of all intervals together, those with most of the terms `asked`, and of these the newest.

CREATE FUNCTION search_named_times(
  types smallint[], at timestamptz, since timestamptz[], until timestamptz[], asked integer[], looked_at integer,
  most integer
) RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT f.id FROM (
      SELECT DISTINCT newest.id, newest.occurred_at
      FROM unnest(search_named_times.since, search_named_times.until) AS p(since, until)
      CROSS JOIN LATERAL newest_readable(
        NULL, looked_at / cardinality(search_named_times.since), p.since, p.until) newest
      WHERE newest.state <= 2 AND newest.type = ANY (types)
        AND (newest.validity IS NULL OR newest.validity @> search_named_times.at)
    ) f CROSS JOIN LATERAL (
      SELECT count(*) AS matched FROM record r, unnest(asked) AS a(term)
      WHERE r.tenant = caller_tenant() AND r.id = f.id AND a.term = ANY (r.terms)
    ) r
    ORDER BY r.matched DESC, f.occurred_at DESC, f.id DESC LIMIT most;
END $function$;

-- As search_named_times, of the records as they were at a past instant

CREATE FUNCTION search_named_times_at(
  types smallint[], at timestamptz, since timestamptz[], until timestamptz[], asked integer[], looked_at integer,
  most integer
) RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT f.id FROM (
      SELECT DISTINCT ON (newest.id) newest.id, version.occurred_at, version.terms
      FROM unnest(search_named_times_at.since, search_named_times_at.until) AS p(since, until)
      CROSS JOIN LATERAL newest_readable(
        NULL, looked_at / cardinality(search_named_times_at.since), p.since, p.until) newest
      CROSS JOIN LATERAL (
        (SELECT newest.scope, newest.sensitivity, newest.state, newest.occurred_at, r.terms FROM record r
         WHERE newest.updated_at <= search_named_times_at.at AND r.tenant = caller_tenant() AND r.id = newest.id)
        UNION ALL
        (SELECT h.scope, h.sensitivity, h.state, h.occurred_at, h.terms FROM record_history h
         WHERE newest.updated_at > search_named_times_at.at AND h.tenant = caller_tenant() AND h.id = newest.id
           AND h.from_at <= search_named_times_at.at AND h.to_at > search_named_times_at.at
         ORDER BY h.row_version DESC LIMIT 1)
      ) version
      WHERE newest.created_at <= search_named_times_at.at AND newest.type = ANY (types) AND version.state <= 2
        AND (caller_has_all_scopes() OR version.scope = ANY (caller_scopes()))
        AND version.sensitivity <= caller_ceiling()
    ) f CROSS JOIN LATERAL (
      SELECT count(*) AS matched FROM unnest(asked) AS a(term) WHERE a.term = ANY (f.terms)
    ) r
    ORDER BY r.matched DESC, f.occurred_at DESC, f.id DESC LIMIT most;
END $function$;

REVOKE ALL ON FUNCTION newest_readable, search_named_times, search_named_times_at FROM PUBLIC;

GRANT EXECUTE ON FUNCTION search_named_times, search_named_times_at TO {read};

GRANT CREATE ON SCHEMA {schema} TO {search};

ALTER FUNCTION newest_readable OWNER TO {search};

ALTER FUNCTION search_named_times OWNER TO {search};

ALTER FUNCTION search_named_times_at OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {search};
