-- Receipts: a salt of their own in place of the tenant's index key

ALTER TABLE erasure ADD COLUMN scope integer;

ALTER TABLE erasure ADD COLUMN salt bytea;

COMMENT ON COLUMN erasure.scope IS 'of what was requested; none: a tenant, or a receipt of an earlier release';

COMMENT ON COLUMN erasure.salt IS 'of all its hashes; none: a receipt of an earlier release, with keyed hashes';

COMMENT ON COLUMN erasure.target_hash IS 'SHA-256 of the salt and the id or name requested';

COMMENT ON COLUMN erasure.hashes IS 'SHA-256 of the salt and each erased id, the first';

COMMENT ON COLUMN erasure.digest IS 'sum of the hashes of all erased ids modulo 2^256';

-- An interrupted erasure continues under the new form; what it has erased before is counted, but not hashed.
UPDATE erasure SET salt = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), hashes = '{}',
  digest = decode(repeat('00', 32), 'hex')
WHERE finished_at IS NULL;

DROP INDEX erasure_running_uq;

CREATE UNIQUE INDEX erasure_running_scope_uq ON erasure (tenant, scope) WHERE finished_at IS NULL AND kind = 3;

CREATE UNIQUE INDEX erasure_running_tenant_uq ON erasure (tenant) WHERE finished_at IS NULL AND kind = 4;

-- Only what an import captured is remembered by refs and threads, which any caller may use. Of the captures of before
-- it is unknown, so all count as an import's.

ALTER TABLE candidate ADD COLUMN is_import boolean NOT NULL DEFAULT true;

ALTER TABLE candidate ALTER COLUMN is_import SET DEFAULT false;

COMMENT ON COLUMN candidate.is_import IS 'captured by an import; captures of releases that did not say so count as such';

-- An entity that waits for the records that refer to it keeps its due instant

ALTER TABLE salience ADD COLUMN check_at timestamptz;

COMMENT ON COLUMN salience.check_at IS 'not pruned before: a current record referred to the entity; its pruning ends the wait';

DROP INDEX salience_due_ix;

CREATE INDEX salience_due_ix ON salience (greatest(due_at, check_at)) WHERE due_at IS NOT NULL;

-- Whether a tenant still exists, and whether callers may still use it: asked with the first statement of a transaction.
-- In PL/pgSQL, which keeps its plans for the session.

CREATE FUNCTION tenant_exists(number bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {search_path} AS $function$
BEGIN
  RETURN EXISTS (SELECT FROM tenant WHERE id = number);
END $function$;

CREATE FUNCTION tenant_is_open(number bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {search_path} AS $function$
BEGIN
  RETURN EXISTS (SELECT FROM tenant WHERE id = number)
    AND NOT EXISTS (SELECT FROM erasure WHERE tenant = number AND kind = 4 AND finished_at IS NULL);
END $function$;

REVOKE ALL ON FUNCTION tenant_exists, tenant_is_open FROM PUBLIC;

GRANT EXECUTE ON FUNCTION tenant_exists TO {jobs}, {erase};

-- The audit of a removed record, for who may read the record by its tombstone

DROP POLICY read ON audit;

CREATE POLICY read ON audit TO {read} USING (
  (SELECT true FROM record r WHERE r.tenant = audit.tenant AND r.id = audit.id)
  OR (SELECT true FROM tombstone t WHERE t.tenant = audit.tenant AND t.id = audit.id));

DROP POLICY read ON audit_note;

CREATE POLICY read ON audit_note TO {read} USING (
  coalesce(sensitivity, 0) <= (SELECT caller_ceiling())
  AND ((SELECT true FROM record r WHERE r.tenant = audit_note.tenant AND r.id = audit_note.id)
    OR (SELECT true FROM tombstone t WHERE t.tenant = audit_note.tenant AND t.id = audit_note.id)));

-- A server that has not heard that a tenant was erased must not leave names, numbers or answers behind

DELETE FROM predicate p WHERE NOT EXISTS (SELECT FROM tenant t WHERE t.id = p.tenant);

ALTER TABLE predicate ADD CONSTRAINT predicate_tenant_fk FOREIGN KEY (tenant) REFERENCES tenant (id);

DELETE FROM doc_counter c WHERE NOT EXISTS (SELECT FROM tenant t WHERE t.id = c.tenant);

ALTER TABLE doc_counter ADD CONSTRAINT doc_counter_tenant_fk FOREIGN KEY (tenant) REFERENCES tenant (id);

DELETE FROM retrieval r WHERE NOT EXISTS (SELECT FROM tenant t WHERE t.id = r.tenant);

ALTER TABLE retrieval ADD CONSTRAINT retrieval_tenant_fk FOREIGN KEY (tenant) REFERENCES tenant (id);

-- Erasing an entity erases the rationales and captures of removed records that were linked to it

ALTER TABLE tombstone ADD COLUMN entities uuid[] NOT NULL DEFAULT '{}';

COMMENT ON COLUMN tombstone.entities IS 'that the record was linked to; none once its rationales and captures are erased';
