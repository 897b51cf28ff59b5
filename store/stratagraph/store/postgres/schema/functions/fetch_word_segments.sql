-- Heads of segments; of those that are not in `whole`, only what may have changed.

CREATE OR REPLACE FUNCTION fetch_word_segments(segments bigint[], whole bigint[])
RETURNS TABLE (
  id bigint, version integer, removed integer[], records integer, buckets integer, groups bytea, ids bytea, bounded bytea
)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT s.id, s.version, s.removed, s.records, s.buckets,
      CASE WHEN s.id = ANY (whole) THEN s.groups END, CASE WHEN s.id = ANY (whole) THEN s.ids END,
      CASE WHEN s.id = ANY (whole) THEN s.bounded END
    FROM word_segment s WHERE s.tenant = caller_tenant() AND s.id = ANY (segments);
END $function$;
