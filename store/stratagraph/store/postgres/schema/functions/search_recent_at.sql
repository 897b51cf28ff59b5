-- As search_recent, of the records as they were at a past instant; `below` is an id above those that existed then.

CREATE OR REPLACE FUNCTION search_recent_at(types smallint[], at timestamptz, below uuid, looked_at integer, most integer)
RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT newest.id FROM newest_readable(below, looked_at) newest
    CROSS JOIN LATERAL (
      SELECT newest.scope, newest.sensitivity, newest.state, newest.occurred_at
      WHERE newest.updated_at <= search_recent_at.at
      UNION ALL
      (SELECT h.scope, h.sensitivity, h.state, h.occurred_at FROM record_history h
       WHERE newest.updated_at > search_recent_at.at AND h.tenant = caller_tenant() AND h.id = newest.id
         AND h.from_at <= search_recent_at.at AND h.to_at > search_recent_at.at
       ORDER BY h.row_version DESC LIMIT 1)
    ) version
    WHERE newest.created_at <= search_recent_at.at AND newest.type = ANY (types) AND version.state <= 2
      AND (caller_has_all_scopes() OR version.scope = ANY (caller_scopes()))
      AND version.sensitivity <= caller_ceiling()
    ORDER BY version.occurred_at DESC, newest.id DESC LIMIT most;
END $function$;
