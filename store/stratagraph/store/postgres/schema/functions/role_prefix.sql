-- Who may do what (design decision 16). Names in braces are this database's roles; nobody logs in as one of them.
--
--   read, write        a caller's transactions; the settings below say whose
--   feed, jobs, erase  background work, which crosses tenants
--   keys               interned names, document numbers, credentials, data keys and what is sealed with them
--   maintenance        owns the change log and makes its days
--   heads, search      nobody enters these: they own the views and functions that look a little further than a caller
--
-- Settings are read through functions wrapped in (SELECT …), so that they are evaluated once a statement. Unset, they
-- are '' or absent, so nothing is equal to them and no row shows.

CREATE OR REPLACE FUNCTION role_prefix() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN {prefix};
