CREATE OR REPLACE FUNCTION caller_tenant() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('stratagraph.tenant', true), '')::bigint;
