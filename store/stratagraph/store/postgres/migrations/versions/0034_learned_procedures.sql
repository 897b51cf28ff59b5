-- What learning notes of tools, and of episodes whose procedure is no skill yet

CREATE TABLE learned_signature (
	tenant BIGINT NOT NULL,
	episode UUID NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	signature BYTEA NOT NULL,
	run UUID NOT NULL,
	CONSTRAINT learned_signature_pk PRIMARY KEY (tenant, episode),
	CONSTRAINT learned_signature_tenant_episode_fk FOREIGN KEY(tenant, episode) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT learned_signature_sensitivity_ck CHECK (sensitivity BETWEEN 0 AND 4)
);

CREATE INDEX learned_signature_ix ON learned_signature (tenant, scope, sensitivity, signature, episode);

COMMENT ON COLUMN learned_signature.signature IS 'keyed hash of the name of the skill';

COMMENT ON COLUMN learned_signature.run IS 'the run that learned from the episode';

CREATE TABLE learned_tool (
	tenant BIGINT NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	tool BYTEA NOT NULL,
	run UUID NOT NULL,
	evidence JSONB NOT NULL,
	CONSTRAINT learned_tool_pk PRIMARY KEY (tenant, scope, sensitivity, tool, run),
	CONSTRAINT learned_tool_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id),
	CONSTRAINT learned_tool_sensitivity_ck CHECK (sensitivity BETWEEN 0 AND 4)
);

COMMENT ON COLUMN learned_tool.tool IS 'keyed hash of its name';

COMMENT ON COLUMN learned_tool.evidence IS 'counts of calls, by what they showed';

-- Only learning reads and writes them.

ALTER TABLE learned_signature ENABLE ROW LEVEL SECURITY;

ALTER TABLE learned_tool ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE, DELETE ON learned_signature, learned_tool TO {write};

GRANT SELECT, DELETE ON learned_signature, learned_tool TO {erase};

CREATE POLICY write ON learned_signature TO {write} USING (
  tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling())
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY write ON learned_tool TO {write} USING (
  tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling())
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY work ON learned_signature TO {erase} USING (true);

CREATE POLICY work ON learned_tool TO {erase} USING (true);
