CREATE OR REPLACE FUNCTION caller_has_all_scopes() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(current_setting('stratagraph.scopes', true), '') = '*';
