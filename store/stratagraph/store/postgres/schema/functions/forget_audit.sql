-- The audit is for ever, as long as there is a tenant whose it is.
CREATE OR REPLACE FUNCTION forget_audit(gone bigint, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {search_path} AS $function$
DECLARE
  entries integer;
BEGIN
  IF EXISTS (SELECT FROM tenant WHERE id = gone) THEN
    RAISE insufficient_privilege USING MESSAGE = 'the audit of a tenant that is there is for ever';
  END IF;
  DELETE FROM audit_head WHERE tenant = gone AND id IN (SELECT id FROM audit_head WHERE tenant = gone LIMIT most);
  DELETE FROM audit WHERE (tenant, id, seq) IN (SELECT tenant, id, seq FROM audit WHERE tenant = gone LIMIT most);
  GET DIAGNOSTICS entries = ROW_COUNT;
  RETURN entries;
END $function$;
