-- The times that the text of an event names. Events of before are without.

ALTER TABLE record ADD COLUMN named_times tstzmultirange;

COMMENT ON COLUMN record.named_times IS 'times that the text of an event names; null without';

CREATE INDEX record_named_times_ix ON record USING gist (tenant, scope, sensitivity, named_times)
  WHERE named_times IS NOT NULL;
