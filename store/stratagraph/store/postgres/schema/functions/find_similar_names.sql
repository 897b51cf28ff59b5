-- Entities with a name or an alias like one of the words, the most similar first. Where the caller may read more than
-- `bound` of them, none: a typo does not tell which is meant. Row-level security is checked here, as a GIN index is not
-- used under it; only after that are names counted and cut.

CREATE OR REPLACE FUNCTION find_similar_names(words text[], most integer, bound integer)
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
