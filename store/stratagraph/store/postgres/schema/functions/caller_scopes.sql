CREATE OR REPLACE FUNCTION caller_scopes() RETURNS integer[] LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(nullif(current_setting('stratagraph.scopes', true), ''), '*')::integer[];
