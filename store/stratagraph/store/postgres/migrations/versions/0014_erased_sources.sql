-- Keyed hashes by which a capture of an erased source is recognised

CREATE TABLE erased_source (
	tenant BIGINT NOT NULL,
	key_hash BYTEA NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT erased_source_pk PRIMARY KEY (tenant, key_hash, scope, sensitivity),
	CONSTRAINT erased_source_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id)
);

COMMENT ON COLUMN erased_source.key_hash IS 'of an idempotency key, of an event''s ref, or of a thread';

-- A candidate that is deleted takes its idempotency key with it; the whole table would be read for each.

CREATE INDEX idempotency_candidate_ix ON idempotency (tenant, candidate);

-- Who may read and write them

ALTER TABLE erased_source ENABLE ROW LEVEL SECURITY;

CREATE POLICY write ON erased_source TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON erased_source TO {erase} USING (true);

GRANT SELECT, DELETE ON erased_source TO {write};

GRANT SELECT, INSERT, UPDATE, DELETE ON erased_source TO {erase};

