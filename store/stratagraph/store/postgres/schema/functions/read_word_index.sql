CREATE OR REPLACE FUNCTION read_word_index(most integer)
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
