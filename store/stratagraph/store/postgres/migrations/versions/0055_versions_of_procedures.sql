-- The keyed hash of a skill's or plan's version. Records of earlier releases have none, and are decrypted to compare them.

ALTER TABLE record ADD COLUMN version_key BYTEA;

COMMENT ON COLUMN record.version_key IS 'keyed hash of the version of a skill or plan; null for any other record';

ALTER TABLE record ADD CONSTRAINT record_procedure_ck CHECK (version_key IS NULL OR type IN (5, 6));
