-- The trigrams of names, by tenant, so that no tenant's names cost another one anything. With the aliases: nothing of a
-- sealed entity is in these columns, so no trigram of it is at rest.

CREATE EXTENSION IF NOT EXISTS btree_gin;

DROP INDEX record_name_ix;

CREATE INDEX record_name_ix ON record USING gin (
  tenant, (name || ' ' || jsonb_path_query_array(payload, '$.aliases[*].value')::text) gin_trgm_ops
) WHERE type = 3;

DROP FUNCTION find_similar_names;

-- Entities with a name or an alias like one of the words, the most similar first. Where the caller may read more than
-- `bound` of them, none: a typo does not tell which is meant. Row-level security is checked here, as a GIN index is not
-- used under it; only after that are names counted and cut.

CREATE FUNCTION find_similar_names(words text[], most integer, bound integer)
RETURNS TABLE (entity uuid, word text, names text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20
SET search_path = {search_path} SET pg_trgm.strict_word_similarity_threshold = 0.3
SET enable_seqscan = off SET enable_indexscan = off AS $function$
BEGIN
  RETURN QUERY
    SELECT r.id, asked.word, r.names
    FROM unnest(words) AS asked(word)
    CROSS JOIN LATERAL (
      WITH alike AS MATERIALIZED (
        SELECT e.id, e.name, e.payload FROM record e
        WHERE asked.word <<% (e.name || ' ' || jsonb_path_query_array(e.payload, '$.aliases[*].value')::text)
          AND e.type = 3 AND e.tenant = caller_tenant() AND e.state <= 2 AND e.sensitivity <= caller_ceiling()
          AND (caller_has_all_scopes() OR e.scope = ANY (caller_scopes()))
        LIMIT bound + 1
      )
      SELECT a.id,
        a.name || ARRAY(SELECT jsonb_array_elements_text(jsonb_path_query_array(a.payload, '$.aliases[*].value'))) AS names
      FROM alike a
      WHERE (SELECT count(*) FROM alike) <= bound
      ORDER BY strict_word_similarity(
        asked.word, a.name || ' ' || jsonb_path_query_array(a.payload, '$.aliases[*].value')::text) DESC, a.id
      LIMIT most
    ) r;
END $function$;

REVOKE ALL ON FUNCTION find_similar_names FROM PUBLIC;

GRANT EXECUTE ON FUNCTION find_similar_names TO {read};

GRANT SELECT (payload) ON record TO {search};

-- The segments of the caller's tenant, and the records that have changed since they were written, as far as the caller
-- may read them: what changes for a caller is logged at the place where it may read it. Null if these are more than
-- `most` changes, or if very many are waiting in all.

DROP FUNCTION read_word_index;

CREATE FUNCTION read_word_index(most integer)
RETURNS TABLE (segments bigint[], versions integer[], buckets integer[], changed uuid[])
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1 SET search_path = {search_path} AS $function$
DECLARE
  read_at_most CONSTANT integer := 5 * most;
  waiting integer;
BEGIN
  SELECT coalesce(array_agg(s.id), '{}'), coalesce(array_agg(s.version), '{}'), coalesce(array_agg(s.buckets), '{}')
  INTO segments, versions, buckets
  FROM word_segment s WHERE s.tenant = caller_tenant();
  SELECT count(*), coalesce(array_agg(w.record) FILTER (
      WHERE w.sensitivity <= caller_ceiling() AND (caller_has_all_scopes() OR w.scope = ANY (caller_scopes()))), '{}')
  INTO waiting, changed
  FROM (
    SELECT c.record, c.scope, c.sensitivity FROM word_change c WHERE c.tenant = caller_tenant() LIMIT read_at_most + 1
  ) w;
  IF cardinality(changed) > most OR waiting > read_at_most THEN
    changed := NULL;
  END IF;
  RETURN NEXT;
END $function$;

REVOKE ALL ON FUNCTION read_word_index FROM PUBLIC;

GRANT EXECUTE ON FUNCTION read_word_index TO {read};

GRANT CREATE ON SCHEMA {schema} TO {search};

ALTER FUNCTION find_similar_names OWNER TO {search};

ALTER FUNCTION read_word_index OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {search};
