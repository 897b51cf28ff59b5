CREATE OR REPLACE FUNCTION search_recent(types smallint[], at timestamptz, looked_at integer, most integer) RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 SET search_path = {search_path} AS $function$
BEGIN
  IF caller_has_all_scopes() THEN
    RETURN QUERY
      SELECT newest.id FROM (
        SELECT listed.id, listed.occurred_at FROM generate_series(0, caller_ceiling()) AS p(level)
        CROSS JOIN LATERAL (
          SELECT r.id, r.occurred_at FROM record r WHERE r.tenant = caller_tenant() AND r.sensitivity = p.level
          ORDER BY r.occurred_at DESC, r.id DESC LIMIT looked_at
        ) listed
        ORDER BY listed.occurred_at DESC, listed.id DESC LIMIT looked_at
      ) newest CROSS JOIN LATERAL (
        SELECT r.state, r.type, r.validity FROM record r WHERE r.tenant = caller_tenant() AND r.id = newest.id LIMIT 1
      ) r
      WHERE r.state <= 2 AND r.type = ANY (types) AND (r.validity IS NULL OR r.validity @> search_recent.at)
      ORDER BY newest.occurred_at DESC, newest.id DESC LIMIT most;
    RETURN;
  END IF;
  RETURN QUERY
    SELECT newest.id FROM newest_readable(NULL, looked_at) newest
    WHERE newest.state <= 2 AND newest.type = ANY (types)
      AND (newest.validity IS NULL OR newest.validity @> search_recent.at)
    ORDER BY newest.occurred_at DESC, newest.id DESC LIMIT most;
END $function$;
