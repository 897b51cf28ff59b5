CREATE OR REPLACE FUNCTION tenant_is_open(number bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {search_path} AS $function$
BEGIN
  RETURN EXISTS (SELECT FROM tenant WHERE id = number)
    AND NOT EXISTS (SELECT FROM erasure WHERE tenant = number AND kind = 4 AND finished_at IS NULL);
END $function$;
