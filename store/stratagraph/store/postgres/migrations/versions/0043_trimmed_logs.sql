-- The log of a run is deleted in batches, after the run is marked as too old to be undone, and undone by an index

ALTER TABLE learning_report ADD COLUMN is_logged BOOLEAN DEFAULT true NOT NULL;

COMMENT ON COLUMN learning_report.is_logged IS 'its log is not yet deleted';

UPDATE learning_report SET is_logged = false WHERE is_trimmed;

DROP INDEX learning_report_trim_ix;

CREATE INDEX learning_report_trim_ix ON learning_report (began_at) WHERE is_logged;

ALTER TABLE learning_change ADD COLUMN is_entity BOOLEAN DEFAULT false NOT NULL;

UPDATE learning_change l SET is_entity = true FROM record r WHERE r.tenant = l.tenant AND r.id = l.id AND r.type = 3;

ALTER TABLE learning_change ADD COLUMN place SMALLINT GENERATED ALWAYS AS (
  CASE WHEN is_merged THEN 1 WHEN before IS NOT NULL OR after IS NULL THEN 4 WHEN is_entity THEN 3 ELSE 2 END) STORED;

COMMENT ON COLUMN learning_change.place IS 'in the order in which a run is undone: merged entities, created records, created entities, others';

CREATE INDEX learning_change_undo_ix ON learning_change (tenant, run, place, id DESC) WHERE kept IS NULL;
