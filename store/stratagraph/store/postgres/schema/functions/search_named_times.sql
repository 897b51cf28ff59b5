-- At most `most` of the records that the caller may read in full and that occurred in one of the intervals: of the newest
-- `looked_at` of all intervals together, those with most of the terms `asked`, and of these the newest. They are current
-- and hold `at`, or facts that held in the interval. Of intervals up to `longest`, so are the newest `looked_at` whose
-- text names a time in it, of at most `at_most` in each scope and level that the caller may read: no others are read.

CREATE OR REPLACE FUNCTION search_named_times(
  types smallint[], at timestamptz, since timestamptz[], until timestamptz[], asked integer[], looked_at integer,
  most integer, longest interval DEFAULT '32 days', at_most integer DEFAULT 2000
) RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT f.id FROM (
      SELECT newest.id, newest.occurred_at
      FROM unnest(search_named_times.since, search_named_times.until) AS p(since, until)
      CROSS JOIN LATERAL newest_readable(
        NULL, looked_at / cardinality(search_named_times.since), p.since, p.until) newest
      WHERE newest.type = ANY (types) AND (
        newest.state <= 2 AND (newest.validity IS NULL OR newest.validity @> search_named_times.at)
        OR newest.type = 4 AND newest.state <= 3 AND newest.validity && tstzrange(p.since, p.until))
      UNION
      SELECT naming.id, naming.occurred_at
      FROM unnest(search_named_times.since, search_named_times.until) AS p(since, until)
      CROSS JOIN LATERAL (
        SELECT found.id, found.occurred_at FROM (
          SELECT r.id, r.occurred_at FROM generate_series(0, caller_ceiling()) AS l(level)
          CROSS JOIN LATERAL (
            SELECT r.id, r.occurred_at FROM record r
            WHERE r.tenant = caller_tenant() AND r.sensitivity = l.level
              AND r.named_times && tstzmultirange(tstzrange(p.since, p.until)) AND r.state <= 2 AND r.type = ANY (types)
            LIMIT at_most
          ) r WHERE caller_has_all_scopes()
          UNION ALL
          SELECT r.id, r.occurred_at FROM unnest(caller_scopes()) AS s(scope), generate_series(0, caller_ceiling()) AS l(level)
          CROSS JOIN LATERAL (
            SELECT r.id, r.occurred_at FROM record r
            WHERE r.tenant = caller_tenant() AND r.scope = s.scope AND r.sensitivity = l.level
              AND r.named_times && tstzmultirange(tstzrange(p.since, p.until)) AND r.state <= 2 AND r.type = ANY (types)
            LIMIT at_most
          ) r WHERE NOT caller_has_all_scopes()
        ) found
        WHERE p.until - p.since <= longest
        ORDER BY found.occurred_at DESC, found.id DESC LIMIT looked_at / cardinality(search_named_times.since)
      ) naming
    ) f CROSS JOIN LATERAL (
      SELECT count(*) AS matched FROM record r, unnest(asked) AS a(term)
      WHERE r.tenant = caller_tenant() AND r.id = f.id AND a.term = ANY (r.terms)
    ) r
    ORDER BY r.matched DESC, f.occurred_at DESC, f.id DESC LIMIT most;
END $function$;
