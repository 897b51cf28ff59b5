-- Entities with similar names are found by keys of their names. Those of existing entities are noted by the next run of
-- learning, which compares all records again.

CREATE TABLE duplicate_key (
  tenant BIGINT NOT NULL,
  key BIGINT NOT NULL,
  entity UUID NOT NULL,
  CONSTRAINT duplicate_key_pk PRIMARY KEY (tenant, key, entity),
  CONSTRAINT duplicate_key_tenant_entity_fk FOREIGN KEY (tenant, entity) REFERENCES record (tenant, id) ON DELETE CASCADE
);

COMMENT ON COLUMN duplicate_key.key IS 'keyed hash of a part of the name, and of the group';

CREATE INDEX duplicate_key_entity_ix ON duplicate_key (tenant, entity);

-- All records are queued again.

DELETE FROM duplicate_due;

UPDATE duplicate_progress SET is_filling = true, after_tenant = NULL, after_id = NULL;

ALTER TABLE duplicate_due ADD COLUMN about UUID NOT NULL, ADD COLUMN has_keys BOOLEAN NOT NULL;

COMMENT ON COLUMN duplicate_due.about IS 'the entity itself, or that which the fact is about, if one is known';

COMMENT ON COLUMN duplicate_due.has_keys IS
  'whether `duplicate_key` has the keys of its present name; true for a fact, which has none';

DROP INDEX duplicate_due_group_ix;

CREATE INDEX duplicate_due_group_ix ON duplicate_due (tenant, scope, sensitivity, about, id);

CREATE INDEX duplicate_due_keyless_ix ON duplicate_due (tenant, id) WHERE NOT has_keys;

DROP INDEX record_group_name_ix;

DROP FUNCTION IF EXISTS find_entities_named_alike;
