-- Entities with a name like that of another one, in one scope and sensitivity: a GIN index is not used under row-level
-- security. Jobs and writers ask, about a record that they have read; it finds only those of the transaction's tenant.

CREATE OR REPLACE FUNCTION find_entities_named_alike(
  of_tenant bigint, of_scope integer, of_sensitivity integer, ids uuid[], names text[], most integer
) RETURNS TABLE (entity uuid, other uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = {search_path} SET pg_trgm.similarity_threshold = 0.3
SET enable_seqscan = off SET enable_indexscan = off AS $function$
BEGIN
  RETURN QUERY
    SELECT asked.id, r.id
    FROM unnest(ids, names) AS asked(id, name)
    CROSS JOIN LATERAL (
      SELECT e.id FROM record e
      WHERE e.name % asked.name AND e.type = 3 AND e.state = 1
        AND e.tenant = of_tenant AND e.tenant = caller_tenant() AND e.scope = of_scope AND e.sensitivity = of_sensitivity::smallint
        AND e.id <> asked.id
      ORDER BY similarity(e.name, asked.name) DESC, e.name, e.id LIMIT most
    ) r;
END $function$;
