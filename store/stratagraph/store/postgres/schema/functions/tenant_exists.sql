-- Whether a tenant still exists, and whether callers may still use it: asked with the first statement of a transaction.
-- In PL/pgSQL, which keeps its plans for the session.

CREATE OR REPLACE FUNCTION tenant_exists(number bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {search_path} AS $function$
BEGIN
  RETURN EXISTS (SELECT FROM tenant WHERE id = number);
END $function$;
