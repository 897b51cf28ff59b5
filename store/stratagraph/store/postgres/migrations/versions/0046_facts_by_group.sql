-- Facts have the scope and sensitivity of their records, which never change, so that the facts of one group about an
-- entity are found by an index, however many facts of other groups there are about it.

ALTER TABLE fact ADD COLUMN scope INTEGER;

ALTER TABLE fact ADD COLUMN sensitivity SMALLINT;

UPDATE fact f SET scope = r.scope, sensitivity = r.sensitivity FROM record r WHERE r.tenant = f.tenant AND r.id = f.id;

ALTER TABLE fact ALTER COLUMN scope SET NOT NULL;

ALTER TABLE fact ALTER COLUMN sensitivity SET NOT NULL;

COMMENT ON COLUMN fact.scope IS 'that of its record';

COMMENT ON COLUMN fact.sensitivity IS 'that of its record';

DROP INDEX fact_subject_ix;

DROP INDEX fact_object_ix;

CREATE INDEX fact_subject_ix ON fact (tenant, subject_entity, scope, sensitivity, object_entity, value_key, id)
WHERE subject_entity IS NOT NULL;

CREATE INDEX fact_object_ix ON fact (tenant, object_entity, scope, sensitivity, id) WHERE object_entity IS NOT NULL;

CREATE INDEX entity_term_name_ix ON entity_term (tenant, scope, sensitivity, term_key, entity) WHERE kind IN (2, 3);

-- The pairs of one scope and sensitivity, and of one sensitivity for callers with all scopes, the likeliest first.

DROP INDEX duplicate_pair_score_ix;

ALTER TABLE duplicate_pair ADD COLUMN minus_score FLOAT GENERATED ALWAYS AS (-score) STORED;

COMMENT ON COLUMN duplicate_pair.minus_score IS 'by which the pairs are listed, in one direction with their ids';

CREATE INDEX duplicate_pair_scope_ix ON duplicate_pair (tenant, scope, sensitivity, minus_score, one, other)
WHERE state = 1;

CREATE INDEX duplicate_pair_level_ix ON duplicate_pair (tenant, sensitivity, minus_score, one, other) WHERE state = 1;

CREATE INDEX learning_report_old_ix ON learning_report (began_at) WHERE NOT is_logged AND undone_at IS NULL;

GRANT DELETE ON learning_report TO {jobs};
