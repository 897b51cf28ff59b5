-- As search_named_times, of the records as they were at a past instant

CREATE OR REPLACE FUNCTION search_named_times_at(
  types smallint[], at timestamptz, since timestamptz[], until timestamptz[], asked integer[], looked_at integer,
  most integer
) RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT f.id FROM (
      SELECT DISTINCT ON (newest.id) newest.id, version.occurred_at, version.terms
      FROM unnest(search_named_times_at.since, search_named_times_at.until) AS p(since, until)
      CROSS JOIN LATERAL newest_readable(
        NULL, looked_at / cardinality(search_named_times_at.since), p.since, p.until) newest
      CROSS JOIN LATERAL (
        (SELECT newest.scope, newest.sensitivity, newest.state, newest.occurred_at, r.terms FROM record r
         WHERE newest.updated_at <= search_named_times_at.at AND r.tenant = caller_tenant() AND r.id = newest.id)
        UNION ALL
        (SELECT h.scope, h.sensitivity, h.state, h.occurred_at, h.terms FROM record_history h
         WHERE newest.updated_at > search_named_times_at.at AND h.tenant = caller_tenant() AND h.id = newest.id
           AND h.from_at <= search_named_times_at.at AND h.to_at > search_named_times_at.at
         ORDER BY h.row_version DESC LIMIT 1)
      ) version
      WHERE newest.created_at <= search_named_times_at.at AND newest.type = ANY (types) AND version.state <= 2
        AND (caller_has_all_scopes() OR version.scope = ANY (caller_scopes()))
        AND version.sensitivity <= caller_ceiling()
    ) f CROSS JOIN LATERAL (
      SELECT count(*) AS matched FROM unnest(asked) AS a(term) WHERE a.term = ANY (f.terms)
    ) r
    ORDER BY r.matched DESC, f.occurred_at DESC, f.id DESC LIMIT most;
END $function$;
