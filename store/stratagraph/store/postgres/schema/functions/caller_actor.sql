-- The log of retrievals: each actor's own entries

CREATE OR REPLACE FUNCTION caller_actor() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('stratagraph.actor', true), '');
