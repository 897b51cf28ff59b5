-- Statistics of word search by scope and sensitivity, and the differences that are not added to them yet

CREATE TABLE word_change (
	tenant BIGINT NOT NULL,
	seq BIGINT GENERATED ALWAYS AS IDENTITY,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	step SMALLINT NOT NULL,
	terms INTEGER[] NOT NULL,
	CONSTRAINT word_change_pk PRIMARY KEY (tenant, seq),
	CONSTRAINT word_change_step_ck CHECK (step IN (-1, 1))
);

COMMENT ON COLUMN word_change.step IS '1: a record with these terms was written; -1: it was deleted or has other terms now';

CREATE TABLE word_count (
	tenant BIGINT NOT NULL,
	term INTEGER NOT NULL,
	scope INTEGER NOT NULL,
	records INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	CONSTRAINT word_count_pk PRIMARY KEY (tenant, term, scope, sensitivity),
	CONSTRAINT word_count_records_ck CHECK (records > 0)
);

COMMENT ON COLUMN word_count.term IS '0 stands for every record, whatever its terms';

CREATE TABLE word_total (
	tenant BIGINT NOT NULL,
	term INTEGER NOT NULL,
	records INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	CONSTRAINT word_total_pk PRIMARY KEY (tenant, term, sensitivity),
	CONSTRAINT word_total_records_ck CHECK (records > 0)
);

COMMENT ON COLUMN word_total.records IS 'the sum of word_count over all scopes';

DROP TABLE lex_df;

DROP TABLE lex_scope;

DROP TABLE lex_stat;

-- The present records are counted by the job like new ones: in batches, while the store answers.

LOCK TABLE record IN SHARE ROW EXCLUSIVE MODE;

INSERT INTO word_change (tenant, scope, sensitivity, step, terms)
SELECT tenant, scope, sensitivity, 1, 0 || terms FROM record;

-- The counter neither reads the change log nor sets records aside any longer.

DELETE FROM sync_cursor WHERE consumer = 'words';

DELETE FROM job_set_aside WHERE job = 'count-words';

ALTER POLICY work ON job_set_aside TO {jobs}, {erase};

REVOKE SELECT, INSERT, UPDATE, DELETE ON job_set_aside FROM {feed};

-- Who may read and write them. The policies have no subqueries, which distributed tables refuse (docs/data-model.md).

ALTER TABLE word_change ENABLE ROW LEVEL SECURITY;

ALTER TABLE word_count ENABLE ROW LEVEL SECURITY;

ALTER TABLE word_total ENABLE ROW LEVEL SECURITY;

GRANT INSERT ON word_change TO {write}, {jobs}, {erase}, {keys};

GRANT SELECT, DELETE ON word_change TO {feed}, {erase};

GRANT SELECT ON word_count, word_total TO {read};

GRANT SELECT ON word_count TO {search};

GRANT SELECT, INSERT, UPDATE, DELETE ON word_count, word_total TO {feed};

GRANT SELECT, DELETE ON word_count, word_total TO {erase};

CREATE POLICY write ON word_change FOR INSERT TO {write} WITH CHECK (tenant = caller_tenant());

CREATE POLICY work ON word_change TO {feed}, {jobs}, {erase}, {keys} USING (true);

CREATE POLICY read ON word_count TO {read} USING (
  tenant = caller_tenant() AND scope = ANY (caller_scopes()) AND sensitivity <= caller_ceiling());

CREATE POLICY search ON word_count FOR SELECT TO {search} USING (tenant = caller_tenant());

CREATE POLICY work ON word_count TO {feed}, {erase} USING (true);

CREATE POLICY read ON word_total TO {read} USING (
  tenant = caller_tenant() AND caller_has_all_scopes() AND sensitivity <= caller_ceiling());

CREATE POLICY work ON word_total TO {feed}, {erase} USING (true);

-- The newest readable records, by when they occurred and by when they were written: read from one index per kind of
-- caller, in which no hidden record lies between two readable ones

DROP INDEX record_recent_ix;

DROP INDEX record_scope_ix;

CREATE INDEX record_scope_recent_ix ON record (tenant, scope, sensitivity, occurred_at DESC, id DESC);

CREATE INDEX record_level_recent_ix ON record (tenant, sensitivity, occurred_at DESC, id DESC);

CREATE INDEX record_scope_written_ix ON record (tenant, scope, sensitivity, id DESC);

CREATE INDEX record_level_written_ix ON record (tenant, sensitivity, id DESC);

GRANT SELECT (created_at) ON record TO {search};

GRANT SELECT (occurred_at) ON record_history TO {search};

-- The newest `looked_at` records that the caller may read in full: by when they occurred or, with `below`, by id among
-- the ids below it. Each scope and sensitivity is a list in the order of an index; of these, only the `looked_at` with
-- the newest first record can matter. Some records of each list are read. The last of the newest `looked_at` among
-- them is a bound: what is older is not wanted. Lists that were read to a record above the bound are read further, and
-- no list below it. One list per scope in a UNION would be merged without this, but planned for longer than it runs.
-- Of a caller with very many scopes, those with most readable records are searched: 5,000 lists in all.

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
        SELECT c.scope FROM word_count c
        WHERE c.tenant = caller_tenant() AND c.term = 0 AND c.scope = ANY (scopes) AND c.sensitivity <= caller_ceiling()
        GROUP BY c.scope ORDER BY sum(c.records) DESC, c.scope LIMIT 5000 / (caller_ceiling() + 1));
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

DROP FUNCTION search_recent;

CREATE FUNCTION search_recent(types smallint[], at timestamptz, looked_at integer, most integer) RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT newest.id FROM newest_readable(NULL, looked_at) newest
    WHERE newest.state <= 2 AND newest.type = ANY (types)
      AND (newest.validity IS NULL OR newest.validity @> search_recent.at)
    ORDER BY newest.occurred_at DESC, newest.id DESC LIMIT most;
END $function$;

-- As search_recent, of the records as they were at a past instant; `below` is an id above those that existed then.

CREATE FUNCTION search_recent_at(types smallint[], at timestamptz, below uuid, looked_at integer, most integer)
RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT newest.id FROM newest_readable(below, looked_at) newest
    CROSS JOIN LATERAL (
      SELECT newest.scope, newest.sensitivity, newest.state, newest.occurred_at
      WHERE newest.updated_at <= search_recent_at.at
      UNION ALL
      (SELECT h.scope, h.sensitivity, h.state, h.occurred_at FROM record_history h
       WHERE newest.updated_at > search_recent_at.at AND h.tenant = caller_tenant() AND h.id = newest.id
         AND h.from_at <= search_recent_at.at AND h.to_at > search_recent_at.at
       ORDER BY h.row_version DESC LIMIT 1)
    ) version
    WHERE newest.created_at <= search_recent_at.at AND newest.type = ANY (types) AND version.state <= 2
      AND (caller_has_all_scopes() OR version.scope = ANY (caller_scopes()))
      AND version.sensitivity <= caller_ceiling()
    ORDER BY version.occurred_at DESC, newest.id DESC LIMIT most;
END $function$;

-- As 0003, but the records that the caller may read are selected with the candidates, so that `cap` counts only these.
-- Bitmaps of the terms and of the caller's scopes are then intersected before any row is fetched. The settings of the
-- function keep the planner from reading every row of the scopes in the order of an index.

DROP FUNCTION search_words;

CREATE FUNCTION search_words(
  any_of integer[], all_of integer[], everything boolean, vector sparsevec, types smallint[], at timestamptz,
  history boolean, cap integer, most integer
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
      AND ($7 OR (f.state <= 2 AND (f.validity IS NULL OR f.validity @> $8)))
    ORDER BY distance, f.id LIMIT $9
  $query$, array_to_string(ARRAY[
      CASE WHEN everything OR NOT caller_has_all_scopes() OR caller_ceiling() < 4 THEN
        'r.tenant = $1 AND r.sensitivity <= $4' || CASE WHEN caller_has_all_scopes() THEN '' ELSE ' AND r.scope = ANY ($3)' END END,
      '(' || array_to_string(conditions, ' OR ') || ')'
    ], ' AND '))
  USING caller_tenant(), caller_has_all_scopes(), caller_scopes(), caller_ceiling(), vector, types, history, at, most,
    cap;
END $function$;

-- As 0012, masked and capped in the same way. Versions of the readable records that changed since are found by the
-- records' ids where everything is read, so that no index over the history is needed. A version that was readable then
-- may belong to a record that is hidden now, so versions found by their terms are never capped.

DROP FUNCTION search_words_at;

CREATE FUNCTION search_words_at(
  any_of integer[], all_of integer[], everything boolean, vector sparsevec, types smallint[], at timestamptz,
  cap integer, most integer
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
      WHERE u.updated_at <= $7 AND u.state <= 2 AND u.type = ANY ($6) AND (u.validity IS NULL OR u.validity @> $7)
      UNION ALL
      SELECT c.id, c.impacts FROM changed c
      WHERE c.from_at <= $7 AND c.to_at > $7
        AND c.tenant = $1 AND ($2 OR c.scope = ANY ($3)) AND c.sensitivity <= $4 AND c.state <= 2 AND c.type = ANY ($6)
        AND EXISTS (
          SELECT FROM record r WHERE r.tenant = c.tenant AND r.id = c.id AND r.updated_at > $7
            AND ($2 OR r.scope = ANY ($3)) AND r.sensitivity <= $4
            AND coalesce(coalesce(c.validity, r.validity) @> $7, true))
    )
    SELECT f.id, f.impacts <#> $5 AS distance FROM found f ORDER BY distance, f.id LIMIT $8
  $query$, mask, candidates, CASE WHEN everything
    THEN format(
      '(SELECT x.tenant, x.id FROM record x WHERE %s AND x.updated_at > $7 LIMIT $9) x'
      ' JOIN record_history h ON h.tenant = x.tenant AND h.id = x.id', mask)
    ELSE format('record_history h WHERE %s AND %s', replace(mask, 'x.', 'h.'), replace(candidates, 'x.', 'h.')) END)
  USING caller_tenant(), caller_has_all_scopes(), caller_scopes(), caller_ceiling(), vector, types, at, most, cap;
END $function$;

REVOKE ALL ON FUNCTION newest_readable, search_recent, search_recent_at, search_words, search_words_at FROM PUBLIC;

GRANT EXECUTE ON FUNCTION search_recent, search_recent_at, search_words, search_words_at TO {read};

GRANT CREATE ON SCHEMA {schema} TO {search};

ALTER FUNCTION newest_readable OWNER TO {search};

ALTER FUNCTION search_recent OWNER TO {search};

ALTER FUNCTION search_recent_at OWNER TO {search};

ALTER FUNCTION search_words OWNER TO {search};

ALTER FUNCTION search_words_at OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {search};
