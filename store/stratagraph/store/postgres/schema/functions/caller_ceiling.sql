CREATE OR REPLACE FUNCTION caller_ceiling() RETURNS smallint LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('stratagraph.ceiling', true), '')::smallint;
