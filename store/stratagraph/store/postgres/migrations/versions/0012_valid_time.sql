-- A reader of heads and relations leaves out facts that do not hold at its instant. Time passes without a write, so the
-- views show the validity, which the reader compares; they show it of redacted facts too, for this comparison only.

GRANT SELECT (validity) ON record TO {heads};

GRANT SELECT (validity) ON record_history TO {search};

-- The index by which records are listed also answers what a hop must know of a record, without reading its row.

DROP INDEX record_listed_ix;

CREATE INDEX record_listed_ix ON record (tenant, id DESC) INCLUDE (scope, sensitivity, type, state, validity);

DROP VIEW relation_in_sight;

DROP VIEW record_head;

CREATE VIEW record_head AS
SELECT r.tenant, r.id, r.type, r.scope, r.sensitivity, r.confidence, r.tags, r.created_at, r.occurred_at, r.updated_at,
  r.state <= 2 AS is_current, r.validity,
  CASE WHEN r.sensitivity <= caller_ceiling() THEN r.state END AS state,
  CASE WHEN r.sensitivity <= caller_ceiling() THEN r.version END AS version,
  s.s, s.t0, s.curve, s.half_life_s, s.min_salience, s.max_age_s, s.reinforcement_gain, s.params, s.pinned,
  s.deletion_policy, s.last_reinforced_at
FROM record r JOIN salience s ON s.tenant = r.tenant AND s.id = r.id;

-- Relations with one end readable in full and the other at least redacted. LIMIT 1 keeps each end a look-up per
-- relation: joined as tables, they would let the planner leave the order of relation_out_ix and sort a hub's edges.

CREATE VIEW relation_in_sight AS
SELECT e.tenant, e.id, e.source, e.target, e.predicate, e.weight, e.created_at, e.ended_at,
  a.scope AS source_scope, a.sensitivity AS source_sensitivity, a.is_current AS source_is_current,
  b.scope AS target_scope, b.sensitivity AS target_sensitivity, b.is_current AS target_is_current,
  a.validity AS source_validity, b.validity AS target_validity
FROM relation e
CROSS JOIN LATERAL (
  SELECT r.scope, r.sensitivity, r.state <= 2 AS is_current, r.validity FROM record r
  WHERE r.tenant = e.tenant AND r.id = e.source LIMIT 1
) a
CROSS JOIN LATERAL (
  SELECT r.scope, r.sensitivity, r.state <= 2 AS is_current, r.validity FROM record r
  WHERE r.tenant = e.tenant AND r.id = e.target LIMIT 1
) b
WHERE least(a.sensitivity, b.sensitivity) <= (SELECT caller_ceiling());

GRANT SELECT ON record_head, relation_in_sight TO {read}, {write}, {jobs}, {erase};

-- As 0007, but a fact must have held at the instant, by the validity that was known then. A version that an earlier
-- release wrote has none: the present one applies.

DROP FUNCTION search_words_at;

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
      SELECT r.id, r.tenant, r.scope, r.sensitivity, r.state, r.type, r.updated_at, r.validity, r.impacts
      FROM record r WHERE %1$s
    ), changed AS MATERIALIZED (
      SELECT h.id, h.tenant, h.scope, h.sensitivity, h.state, h.type, h.from_at, h.to_at, h.validity, h.impacts
      FROM record_history h WHERE %1$s
    ), found AS (
      SELECT u.id, u.impacts FROM unchanged u
      WHERE u.updated_at <= $7
        AND u.tenant = $1 AND ($2 OR u.scope = ANY ($3)) AND u.sensitivity <= $4 AND u.state <= 2 AND u.type = ANY ($6)
        AND (u.validity IS NULL OR u.validity @> $7)
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
  $query$, candidates)
  USING caller_tenant(), caller_has_all_scopes(), caller_scopes(), caller_ceiling(), vector, types, at, most;
END $function$;

REVOKE ALL ON FUNCTION search_words_at FROM PUBLIC;

GRANT EXECUTE ON FUNCTION search_words_at TO {read};

GRANT CREATE ON SCHEMA {schema} TO {heads}, {search};

ALTER VIEW record_head OWNER TO {heads};

ALTER VIEW relation_in_sight OWNER TO {heads};

ALTER FUNCTION search_words_at OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {heads}, {search};

-- A mirror lacks the validity of the facts that have a bound: its workers write them again.

SET LOCAL ROLE {jobs};

INSERT INTO sync_log (shard, tenant, kind, id, version, op)
SELECT get_byte(uuid_send(id), 15) % 16, tenant, 1, id, row_version, 'R' FROM record
WHERE type = 4 AND NOT (lower_inf(validity) AND upper_inf(validity));

RESET ROLE;
