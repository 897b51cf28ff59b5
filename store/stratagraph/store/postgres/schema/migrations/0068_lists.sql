-- Lists of records by their last change, of the last facts of a slot, of the facts about a subject that is no entity, and of open contests.

CREATE INDEX record_updated_ix ON record (tenant, updated_at DESC, id DESC)
  INCLUDE (scope, sensitivity, type, state);

CREATE INDEX record_contested_ix ON record (tenant, id DESC) WHERE state = 2;

CREATE INDEX fact_subject_key_ix ON fact (tenant, subject_key) WHERE subject_key IS NOT NULL;

DROP INDEX record_slot_ix;

CREATE INDEX record_slot_ix ON record (tenant, scope, sensitivity, slot_key, id) WHERE type = 4;
