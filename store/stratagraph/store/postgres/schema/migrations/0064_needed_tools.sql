-- What episodes showed of the words of tasks and the tools that they need, and procedures that a caller has retracted.

CREATE TABLE learned_example (
  tenant BIGINT NOT NULL,
  episode UUID NOT NULL,
  run UUID NOT NULL,
  scope INTEGER NOT NULL,
  sensitivity SMALLINT NOT NULL,
  closed_at TIMESTAMP WITH TIME ZONE NOT NULL,
  outcome SMALLINT NOT NULL,
  skill BYTEA NOT NULL,
  plan BYTEA NOT NULL,
  tools BYTEA NOT NULL,
  terms BYTEA NOT NULL,
  counts BYTEA NOT NULL,
  CONSTRAINT learned_example_pk PRIMARY KEY (tenant, episode, run),
  CONSTRAINT learned_example_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id),
  CONSTRAINT learned_example_sensitivity_ck CHECK (sensitivity BETWEEN 0 AND 4),
  CONSTRAINT learned_example_counts_ck CHECK (octet_length(terms) = 2 * octet_length(counts))
);

COMMENT ON COLUMN learned_example.run IS 'the run that read the episode';

COMMENT ON COLUMN learned_example.closed_at IS 'when the episode was closed';

COMMENT ON COLUMN learned_example.skill IS 'handle key of the skill with these tools';

COMMENT ON COLUMN learned_example.plan IS 'handle key of the plan with these tools';

COMMENT ON COLUMN learned_example.tools IS 'keyed hashes of their names, 16 bytes each';

COMMENT ON COLUMN learned_example.terms IS 'search terms of what the user said, 4 bytes each';

COMMENT ON COLUMN learned_example.counts IS 'how often each term was said, 2 bytes each';

CREATE INDEX learned_example_group_ix ON learned_example (tenant, scope, sensitivity, closed_at, episode, run);

CREATE TABLE learned_model (
  tenant BIGINT NOT NULL,
  scope INTEGER NOT NULL,
  sensitivity SMALLINT NOT NULL,
  version UUID NOT NULL,
  updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
  model BYTEA NOT NULL,
  CONSTRAINT learned_model_pk PRIMARY KEY (tenant, scope, sensitivity),
  CONSTRAINT learned_model_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id),
  CONSTRAINT learned_model_sensitivity_ck CHECK (sensitivity BETWEEN 0 AND 4)
);

COMMENT ON COLUMN learned_model.version IS 'another one for each model';

COMMENT ON COLUMN learned_model.model IS 'arrays of numbers and keyed hashes, of numpy';

CREATE INDEX learned_model_recent_ix ON learned_model (tenant, updated_at);

CREATE TABLE refused_procedure (
  tenant BIGINT NOT NULL,
  scope INTEGER NOT NULL,
  sensitivity SMALLINT NOT NULL,
  key BYTEA NOT NULL,
  CONSTRAINT refused_procedure_pk PRIMARY KEY (tenant, scope, sensitivity, key),
  CONSTRAINT refused_procedure_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id),
  CONSTRAINT refused_procedure_sensitivity_ck CHECK (sensitivity BETWEEN 0 AND 4)
);

COMMENT ON COLUMN refused_procedure.key IS 'handle key';

ALTER TABLE retrieval ADD COLUMN composed_id uuid, ADD COLUMN composed text,
  ADD COLUMN composed_parts uuid[],
  ADD CONSTRAINT retrieval_composed_ck CHECK (num_nonnulls(composed_id, composed, composed_parts) IN (0, 3));

COMMENT ON COLUMN retrieval.composed_id IS 'the id of the composed plan that it returned; null without one';

COMMENT ON COLUMN retrieval.composed IS 'that plan''s id as a plan, which names its parts';

COMMENT ON COLUMN retrieval.composed_parts IS 'the records that are its parts';

CREATE INDEX retrieval_composed_ix ON retrieval (tenant, composed_id) WHERE composed_id IS NOT NULL;

-- Episodes that are still stored are read once more, by the new stage alone.
UPDATE episode SET learned_at = NULL WHERE learned_at IS NOT NULL AND outcome IS NOT NULL;
