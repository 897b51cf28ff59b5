-- Who may do what (design decision 16). Names in braces are this database's roles; nobody logs in as one of them.
--
--   read, write        a caller's transactions; the settings below say whose
--   feed, jobs, erase  background work, which crosses tenants
--   keys               interned names, document numbers, credentials, data keys and what is sealed with them
--   maintenance        owns the change log and makes its days
--   heads, search      nobody enters these: they own the views and functions that look a little further than a caller
--
-- Settings are read through functions wrapped in (SELECT …), so that they are evaluated once a statement. Unset, they
-- are '' or absent, so nothing is equal to them and no row shows.

CREATE FUNCTION role_prefix() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN {prefix};

CREATE FUNCTION caller_tenant() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('stratagraph.tenant', true), '')::bigint;

CREATE FUNCTION caller_ceiling() RETURNS smallint LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('stratagraph.ceiling', true), '')::smallint;

CREATE FUNCTION caller_has_all_scopes() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(current_setting('stratagraph.scopes', true), '') = '*';

CREATE FUNCTION caller_scopes() RETURNS integer[] LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(nullif(current_setting('stratagraph.scopes', true), ''), '*')::integer[];

REVOKE ALL ON FUNCTION role_prefix(), caller_tenant(), caller_ceiling(), caller_has_all_scopes(), caller_scopes()
FROM PUBLIC;

GRANT EXECUTE ON FUNCTION caller_tenant(), caller_ceiling(), caller_has_all_scopes(), caller_scopes()
TO {read}, {write}, {jobs}, {erase}, {heads}, {search};

GRANT USAGE ON SCHEMA {schema} TO {read}, {write}, {feed}, {jobs}, {erase}, {keys}, {maintenance}, {heads}, {search};

-- artifact: read through the records that refer to it

ALTER TABLE artifact ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON artifact TO {read}, {jobs};

GRANT SELECT, INSERT ON artifact TO {write};

GRANT SELECT, DELETE ON artifact TO {erase};

CREATE POLICY read ON artifact TO {read} USING (
  (SELECT true FROM artifact_reference x WHERE x.tenant = artifact.tenant AND x.sha256 = artifact.sha256 LIMIT 1));

CREATE POLICY write ON artifact TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON artifact TO {jobs}, {erase} USING (true);

-- artifact_reference

ALTER TABLE artifact_reference ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON artifact_reference TO {read};

GRANT SELECT, INSERT ON artifact_reference TO {write}, {jobs};

GRANT SELECT, DELETE ON artifact_reference TO {erase};

CREATE POLICY read ON artifact_reference TO {read} USING (
  (SELECT true FROM record r WHERE r.tenant = artifact_reference.tenant AND r.id = artifact_reference.record));

CREATE POLICY write ON artifact_reference TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON artifact_reference TO {jobs}, {erase} USING (true);

-- audit: nobody changes or deletes an entry

ALTER TABLE audit ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON audit TO {read};

GRANT SELECT, INSERT ON audit TO {write}, {jobs}, {erase};

CREATE POLICY read ON audit TO {read} USING (
  (SELECT true FROM record r WHERE r.tenant = audit.tenant AND r.id = audit.id));

CREATE POLICY write ON audit TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON audit TO {jobs}, {erase} USING (true);

-- audit_head

ALTER TABLE audit_head ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON audit_head TO {write}, {jobs}, {erase};

CREATE POLICY write ON audit_head TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON audit_head TO {jobs}, {erase} USING (true);

-- audit_note: the text may be sealed later, and erased

ALTER TABLE audit_note ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON audit_note TO {read};

GRANT SELECT, INSERT, UPDATE (rationale, sealed) ON audit_note TO {write}, {jobs}, {erase};

GRANT SELECT, UPDATE (rationale, sealed) ON audit_note TO {keys};

GRANT DELETE ON audit_note TO {erase};

CREATE POLICY read ON audit_note TO {read} USING (
  (SELECT true FROM record r WHERE r.tenant = audit_note.tenant AND r.id = audit_note.id));

CREATE POLICY write ON audit_note TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON audit_note TO {jobs}, {erase}, {keys} USING (true);

-- candidate: read through the record it became

ALTER TABLE candidate ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON candidate TO {read};

GRANT SELECT, INSERT, UPDATE ON candidate TO {write}, {jobs};

GRANT SELECT, INSERT, UPDATE, DELETE ON candidate TO {erase};

GRANT SELECT, UPDATE (source, input, sealed) ON candidate TO {keys};

CREATE POLICY read ON candidate TO {read} USING (
  (SELECT true FROM record r WHERE r.tenant = candidate.tenant AND r.id = candidate.record));

CREATE POLICY write ON candidate TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON candidate TO {jobs}, {erase}, {keys} USING (true);

-- credential

ALTER TABLE credential ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON credential TO {keys};

GRANT SELECT, DELETE ON credential TO {erase};

CREATE POLICY work ON credential TO {keys}, {erase} USING (true);

-- data_key: whoever seals holds the key's row, and locking a row needs leave to update it, which none has

ALTER TABLE data_key ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE, DELETE ON data_key TO {keys};

GRANT SELECT (tenant, id, created_at), UPDATE (created_at) ON data_key TO {write}, {jobs};

GRANT SELECT (tenant, id, created_at), UPDATE (created_at), DELETE ON data_key TO {erase};

CREATE POLICY keys ON data_key TO {keys} USING (true);

CREATE POLICY write_looks ON data_key FOR SELECT TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY write_holds ON data_key FOR UPDATE TO {write} USING (tenant = (SELECT caller_tenant())) WITH CHECK (false);

CREATE POLICY work_looks ON data_key FOR SELECT TO {jobs}, {erase} USING (true);

CREATE POLICY work_holds ON data_key FOR UPDATE TO {jobs}, {erase} USING (true) WITH CHECK (false);

CREATE POLICY erase ON data_key FOR DELETE TO {erase} USING (true);

-- doc_counter

ALTER TABLE doc_counter ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON doc_counter TO {keys};

GRANT SELECT, DELETE ON doc_counter TO {erase};

CREATE POLICY work ON doc_counter TO {keys}, {erase} USING (true);

-- entity_term: a writer gives back the terms it claimed and another transaction won

ALTER TABLE entity_term ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON entity_term TO {read};

GRANT SELECT, INSERT, UPDATE, DELETE ON entity_term TO {write}, {jobs}, {erase};

CREATE POLICY read ON entity_term TO {read} USING (
  tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling())
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY write ON entity_term TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON entity_term TO {jobs}, {erase} USING (true);

-- episode

ALTER TABLE episode ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON episode TO {read};

GRANT SELECT, INSERT, UPDATE ON episode TO {write}, {jobs};

GRANT SELECT, UPDATE, DELETE ON episode TO {erase};

CREATE POLICY read ON episode TO {read} USING (
  (SELECT true FROM record r WHERE r.tenant = episode.tenant AND r.id = episode.id));

CREATE POLICY write ON episode TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON episode TO {jobs}, {erase} USING (true);

-- episode_event: read through the member; whoever may not see it does not learn that it is one

ALTER TABLE episode_event ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON episode_event TO {read};

GRANT SELECT, INSERT ON episode_event TO {write}, {jobs};

GRANT SELECT, DELETE ON episode_event TO {erase};

CREATE POLICY read ON episode_event TO {read} USING (
  (SELECT true FROM record r WHERE r.tenant = episode_event.tenant AND r.id = episode_event.record));

CREATE POLICY write ON episode_event TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON episode_event TO {jobs}, {erase} USING (true);

-- fact_predicate

ALTER TABLE fact_predicate ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON fact_predicate TO {write};

GRANT SELECT ON fact_predicate TO {jobs};

GRANT SELECT, DELETE ON fact_predicate TO {erase};

CREATE POLICY write ON fact_predicate TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON fact_predicate TO {jobs}, {erase} USING (true);

-- fact_slot

ALTER TABLE fact_slot ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON fact_slot TO {write}, {jobs};

GRANT SELECT, UPDATE, DELETE ON fact_slot TO {erase};

CREATE POLICY write ON fact_slot TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON fact_slot TO {jobs}, {erase} USING (true);

-- idempotency

ALTER TABLE idempotency ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT ON idempotency TO {write};

GRANT SELECT, DELETE ON idempotency TO {jobs}, {erase};

GRANT INSERT ON idempotency TO {erase};

CREATE POLICY write ON idempotency TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON idempotency TO {jobs}, {erase} USING (true);

-- lex_df, lex_scope, lex_stat: counts only

ALTER TABLE lex_df ENABLE ROW LEVEL SECURITY;

ALTER TABLE lex_scope ENABLE ROW LEVEL SECURITY;

ALTER TABLE lex_stat ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON lex_df, lex_scope, lex_stat TO {read};

GRANT SELECT, INSERT, UPDATE ON lex_df, lex_scope, lex_stat TO {feed};

GRANT SELECT, UPDATE, DELETE ON lex_df, lex_scope, lex_stat TO {erase};

CREATE POLICY read ON lex_df TO {read} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY read ON lex_scope TO {read} USING (
  tenant = (SELECT caller_tenant())
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY read ON lex_stat TO {read} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON lex_df TO {feed}, {erase} USING (true);

CREATE POLICY work ON lex_scope TO {feed}, {erase} USING (true);

CREATE POLICY work ON lex_stat TO {feed}, {erase} USING (true);

-- lifecycle_history

ALTER TABLE lifecycle_history ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON lifecycle_history TO {read};

GRANT SELECT, INSERT ON lifecycle_history TO {write}, {jobs}, {erase};

GRANT DELETE ON lifecycle_history TO {erase};

CREATE POLICY read ON lifecycle_history TO {read} USING (
  (SELECT true FROM record r WHERE r.tenant = lifecycle_history.tenant AND r.id = lifecycle_history.id));

CREATE POLICY write ON lifecycle_history TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON lifecycle_history TO {jobs}, {erase} USING (true);

-- mirror_generation

ALTER TABLE mirror_generation ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON mirror_generation TO {feed};

CREATE POLICY work ON mirror_generation TO {feed} USING (true);

-- predicate

ALTER TABLE predicate ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT ON predicate TO {keys};

GRANT SELECT ON predicate TO {read}, {write}, {jobs};

GRANT SELECT, DELETE ON predicate TO {erase};

CREATE POLICY read ON predicate TO {read}, {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON predicate TO {keys}, {jobs}, {erase} USING (true);

-- record

ALTER TABLE record ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON record TO {read}, {feed};

GRANT SELECT, INSERT, UPDATE ON record TO {write}, {jobs};

GRANT SELECT, UPDATE ON record TO {keys};

GRANT SELECT, UPDATE, DELETE ON record TO {erase};

GRANT SELECT (tenant, id, type, scope, sensitivity, state, confidence, tags, created_at, occurred_at, updated_at, version)
ON record TO {heads};

GRANT SELECT (tenant, id, type, scope, sensitivity, state, occurred_at, validity, terms, impacts) ON record TO {search};

CREATE POLICY read ON record TO {read} USING (
  tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling())
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY heads ON record TO {heads} USING (
  tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling()) + 1
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY write ON record TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON record TO {feed}, {jobs}, {erase}, {keys} USING (true);

-- Operators on arrays are not leakproof, so under any condition the GIN index would not be used.
CREATE POLICY search ON record FOR SELECT TO {search} USING (true);

-- record_history: neither what the caller could not see then, nor what it cannot see now

ALTER TABLE record_history ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON record_history TO {read};

GRANT SELECT, INSERT, UPDATE (name, text, payload, provenance, interpretation, sealed) ON record_history
TO {write}, {jobs}, {erase}, {keys};

GRANT DELETE ON record_history TO {erase};

CREATE POLICY read ON record_history TO {read} USING (
  tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling())
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[]))
  AND (SELECT true FROM record r WHERE r.tenant = record_history.tenant AND r.id = record_history.id));

CREATE POLICY write ON record_history TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON record_history TO {jobs}, {erase}, {keys} USING (true);

-- reevaluation

ALTER TABLE reevaluation ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON reevaluation TO {write};

GRANT SELECT, INSERT, UPDATE, DELETE ON reevaluation TO {jobs}, {erase};

GRANT SELECT ON reevaluation TO {read};

CREATE POLICY read ON reevaluation TO {read} USING (
  (SELECT true FROM record r WHERE r.tenant = reevaluation.tenant AND r.id = reevaluation.id));

CREATE POLICY write ON reevaluation TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON reevaluation TO {jobs}, {erase} USING (true);

-- relation: callers read relation_in_sight

ALTER TABLE relation ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON relation TO {heads}, {feed};

GRANT SELECT, INSERT, UPDATE ON relation TO {write}, {jobs};

GRANT SELECT, UPDATE, DELETE ON relation TO {erase};

CREATE POLICY heads ON relation TO {heads} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY write ON relation TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON relation TO {feed}, {jobs}, {erase} USING (true);

-- retrieval

ALTER TABLE retrieval ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON retrieval TO {read};

GRANT SELECT, INSERT, UPDATE ON retrieval TO {write};

GRANT SELECT, DELETE ON retrieval TO {jobs};

GRANT SELECT, UPDATE, DELETE ON retrieval TO {erase};

CREATE POLICY caller ON retrieval TO {read}, {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON retrieval TO {jobs}, {erase} USING (true);

-- salience: callers read record_head

ALTER TABLE salience ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON salience TO {read}, {heads};

GRANT SELECT, INSERT, UPDATE ON salience TO {write}, {jobs}, {erase};

GRANT DELETE ON salience TO {erase};

CREATE POLICY read ON salience TO {read} USING (
  (SELECT true FROM record r WHERE r.tenant = salience.tenant AND r.id = salience.id));

CREATE POLICY caller ON salience TO {write}, {heads} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON salience TO {jobs}, {erase} USING (true);

-- scope

ALTER TABLE scope ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON scope TO {read}, {write}, {jobs};

GRANT SELECT, INSERT ON scope TO {keys};

GRANT SELECT, DELETE ON scope TO {erase};

CREATE POLICY read ON scope TO {read} USING (
  tenant = (SELECT caller_tenant())
  AND ((SELECT caller_has_all_scopes()) OR id = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY write ON scope TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON scope TO {keys}, {jobs}, {erase} USING (true);

-- sync_cursor, sync_tick: no tenant's data

ALTER TABLE sync_cursor ENABLE ROW LEVEL SECURITY;

ALTER TABLE sync_tick ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON sync_cursor TO {feed};

GRANT SELECT ON sync_cursor TO {keys}, {jobs};

GRANT SELECT, INSERT, DELETE ON sync_tick TO {feed};

GRANT SELECT, DELETE ON sync_tick TO {jobs};

GRANT SELECT ON sync_tick TO {keys}, {read};

CREATE POLICY work ON sync_cursor TO {feed}, {keys}, {jobs} USING (true);

CREATE POLICY work ON sync_tick TO {feed}, {keys}, {jobs}, {read} USING (true);

-- sync_log: maintenance owns it; a day has no grants of its own, so it is reached through the log only

ALTER TABLE sync_log ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON sync_log TO {feed};

GRANT INSERT ON sync_log TO {write}, {jobs}, {erase}, {keys};

CREATE POLICY write ON sync_log TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON sync_log TO {feed}, {jobs}, {erase}, {keys} USING (true);

GRANT CREATE ON SCHEMA {schema} TO {maintenance};

DO $$
DECLARE
  part regclass;
BEGIN
  FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'sync_log'::regclass LOOP
    EXECUTE format('ALTER TABLE %s OWNER TO %I', part, role_prefix() || 'maintenance');
  END LOOP;
  ALTER TABLE sync_log OWNER TO {maintenance};
END $$;

-- sync_parked

ALTER TABLE sync_parked ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE, DELETE ON sync_parked TO {feed};

GRANT SELECT, DELETE ON sync_parked TO {erase};

CREATE POLICY work ON sync_parked TO {feed}, {erase} USING (true);

-- tenant: holds the index key, so no caller reads it

ALTER TABLE tenant ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON tenant TO {keys};

GRANT SELECT, DELETE ON tenant TO {erase};

CREATE POLICY work ON tenant TO {keys}, {erase} USING (true);

-- tombstone

ALTER TABLE tombstone ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON tombstone TO {read}, {write}, {jobs};

GRANT SELECT, INSERT, UPDATE, DELETE ON tombstone TO {erase};

CREATE POLICY read ON tombstone TO {read} USING (
  tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling())
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY write ON tombstone TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON tombstone TO {jobs}, {erase} USING (true);

-- Heads: what a caller may see of a record one level above its ceiling, and no more. Up to the ceiling, state and
-- version show too; the content is read from the table itself.

CREATE VIEW record_head AS
SELECT r.tenant, r.id, r.type, r.scope, r.sensitivity, r.confidence, r.tags, r.created_at, r.occurred_at, r.updated_at,
  r.state <= 2 AS is_current,
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
  b.scope AS target_scope, b.sensitivity AS target_sensitivity, b.is_current AS target_is_current
FROM relation e
CROSS JOIN LATERAL (
  SELECT r.scope, r.sensitivity, r.state <= 2 AS is_current FROM record r
  WHERE r.tenant = e.tenant AND r.id = e.source LIMIT 1
) a
CROSS JOIN LATERAL (
  SELECT r.scope, r.sensitivity, r.state <= 2 AS is_current FROM record r
  WHERE r.tenant = e.tenant AND r.id = e.target LIMIT 1
) b
WHERE least(a.sensitivity, b.sensitivity) <= (SELECT caller_ceiling());

GRANT SELECT ON record_head, relation_in_sight TO {read}, {write}, {jobs}, {erase};

-- Search: ids and distances of records in full sight of the caller, whose trust comes from the settings. Records are
-- candidates by one of the terms in `any_of`, by all terms of a row of `all_of` (rows are padded with their own
-- terms), or, with `everything`, by lying in the caller's scopes.

CREATE FUNCTION search_words(
  any_of integer[], all_of integer[], everything boolean, vector sparsevec, types smallint[], at timestamptz,
  history boolean, most integer
) RETURNS TABLE (id uuid, distance float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 200 SET search_path = {search_path} AS $function$
DECLARE
  conditions text[] := '{}';
  terms_together integer[];
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
  -- Materialised, or a filter beside the terms may draw the planner away from the GIN index.
  RETURN QUERY EXECUTE format($query$
    WITH found AS MATERIALIZED (
      SELECT r.id, r.tenant, r.scope, r.sensitivity, r.state, r.type, r.validity, r.impacts FROM record r WHERE %s
    )
    SELECT f.id, f.impacts <#> $5 AS distance FROM found f
    WHERE f.tenant = $1 AND ($2 OR f.scope = ANY ($3)) AND f.sensitivity <= $4 AND f.type = ANY ($6)
      AND ($7 OR (f.state <= 2 AND (f.validity IS NULL OR f.validity @> $8)))
    ORDER BY distance, f.id LIMIT $9
  $query$, array_to_string(conditions, ' OR '))
  USING caller_tenant(), caller_has_all_scopes(), caller_scopes(), caller_ceiling(), vector, types, history, at, most;
END $function$;

-- The newest of the newest: bounded by `looked_at`, whatever the caller may see of them, before anything is filtered.

CREATE FUNCTION search_recent(types smallint[], looked_at integer, most integer) RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT newest.id FROM (
      SELECT r.id, r.scope, r.sensitivity, r.state, r.type, r.occurred_at FROM record r
      WHERE r.tenant = caller_tenant() ORDER BY r.occurred_at DESC, r.id DESC LIMIT looked_at
    ) newest
    WHERE (caller_has_all_scopes() OR newest.scope = ANY (caller_scopes())) AND newest.sensitivity <= caller_ceiling()
      AND newest.state <= 2 AND newest.type = ANY (types)
    ORDER BY newest.occurred_at DESC, newest.id DESC LIMIT most;
END $function$;

REVOKE ALL ON FUNCTION search_words, search_recent FROM PUBLIC;

GRANT EXECUTE ON FUNCTION search_words, search_recent TO {read};

-- A new owner must be allowed to make things where they are; only for this moment.

GRANT CREATE ON SCHEMA {schema} TO {heads}, {search};

ALTER VIEW record_head OWNER TO {heads};

ALTER VIEW relation_in_sight OWNER TO {heads};

ALTER FUNCTION search_words OWNER TO {search};

ALTER FUNCTION search_recent OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {heads}, {search};
