-- The counts of one word in one row, or in one row for each 16 scopes, instead of a row per scope and level

-- Changes that are not counted yet stay as they are; the job adds them later.

LOCK TABLE word_count, word_total IN ACCESS EXCLUSIVE MODE;

CREATE TABLE word_count_packed AS
WITH word AS (
  SELECT tenant, term, count(*) > 100 AS is_spread FROM word_count GROUP BY tenant, term
)
SELECT tenant, term, part, array_agg(cell ORDER BY cell) AS cells FROM (
  SELECT c.tenant, c.term, CASE WHEN w.is_spread THEN c.scope / 16 ELSE -1 END AS part,
    ((c.scope::bigint * 8 + c.sensitivity) << 29) + c.records AS cell
  FROM word_count c JOIN word w ON w.tenant = c.tenant AND w.term = c.term
  UNION ALL
  SELECT t.tenant, t.term, -1, (t.sensitivity::bigint << 29) + t.records
  FROM word_total t JOIN word w ON w.tenant = t.tenant AND w.term = t.term
  WHERE w.is_spread
) c
GROUP BY tenant, term, part;

DROP TABLE word_count;

DROP TABLE word_total;

CREATE TABLE word_count (
	tenant BIGINT NOT NULL,
	term INTEGER NOT NULL,
	part INTEGER NOT NULL,
	cells BIGINT[] NOT NULL,
	CONSTRAINT word_count_pk PRIMARY KEY (tenant, term, part),
	CONSTRAINT word_count_cells_ck CHECK (cardinality(cells) > 0)
);

COMMENT ON COLUMN word_count.term IS '0 stands for every record, whatever its terms';

COMMENT ON COLUMN word_count.part IS '-1: the word itself; n: its counts in the scopes 16 n to 16 n + 15, if it has many';

COMMENT ON COLUMN word_count.cells IS '(scope * 8 + sensitivity) * 2^29 + number of records, ascending; scope 0: a sum over all scopes';

INSERT INTO word_count SELECT tenant, term, part, cells FROM word_count_packed ORDER BY tenant, term, part;

DROP TABLE word_count_packed;

-- A policy cannot hide a part of a row. So no caller reads the rows: the functions below add up what it may read.

ALTER TABLE word_count ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON word_count TO {search};

GRANT SELECT, INSERT, UPDATE, DELETE ON word_count TO {feed};

GRANT SELECT, DELETE ON word_count TO {erase};

CREATE POLICY search ON word_count FOR SELECT TO {search} USING (tenant = caller_tenant());

CREATE POLICY work ON word_count TO {feed}, {erase} USING (true);

-- The numbers of records with each of the terms that the caller may read in full, in all scopes.

CREATE FUNCTION count_terms_in_all_scopes(terms integer[]) RETURNS TABLE (term integer, records bigint)
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

-- The same in those of the given scopes that the caller may read.

CREATE FUNCTION count_terms(terms integer[], scopes integer[]) RETURNS TABLE (term integer, records bigint)
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

-- The numbers of records that the caller may read in full in each of the given scopes.

CREATE FUNCTION count_scopes(scopes integer[]) RETURNS TABLE (scope integer, records bigint)
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

-- As 0017, with the counts of scopes from count_scopes

DROP FUNCTION newest_readable;

CREATE FUNCTION newest_readable(below uuid, looked_at integer)
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
    || CASE WHEN below IS NULL THEN '' ELSE ' AND r.id < $2' END;
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

REVOKE ALL ON FUNCTION count_terms_in_all_scopes, count_terms, count_scopes, newest_readable FROM PUBLIC;

GRANT EXECUTE ON FUNCTION count_terms_in_all_scopes, count_terms, count_scopes TO {read}, {search};

GRANT CREATE ON SCHEMA {schema} TO {search};

ALTER FUNCTION count_terms_in_all_scopes OWNER TO {search};

ALTER FUNCTION count_terms OWNER TO {search};

ALTER FUNCTION count_scopes OWNER TO {search};

ALTER FUNCTION newest_readable OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {search};
