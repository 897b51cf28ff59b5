-- At most `most` of the records that the caller may read in full and that occurred in one of the intervals: of the newest
-- `looked_at` of all intervals together, those with most of the terms `asked`, and of these the newest. They are current
-- and hold `at`, or facts that held in the interval.

CREATE OR REPLACE FUNCTION search_named_times(
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
      WHERE newest.type = ANY (types) AND (
        newest.state <= 2 AND (newest.validity IS NULL OR newest.validity @> search_named_times.at)
        OR newest.type = 4 AND newest.state <= 3 AND newest.validity && tstzrange(p.since, p.until))
    ) f CROSS JOIN LATERAL (
      SELECT count(*) AS matched FROM record r, unnest(asked) AS a(term)
      WHERE r.tenant = caller_tenant() AND r.id = f.id AND a.term = ANY (r.terms)
    ) r
    ORDER BY r.matched DESC, f.occurred_at DESC, f.id DESC LIMIT most;
END $function$;
