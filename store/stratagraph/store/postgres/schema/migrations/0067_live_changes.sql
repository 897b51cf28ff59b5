-- Readers of changes learn from the log who could see a record that was deleted or raised, and what runs of learning did.

-- The log belongs to a role of its own.

DO $do$ BEGIN
  EXECUTE (SELECT format('SET LOCAL ROLE %I', pg_get_userbyid(relowner)) FROM pg_class WHERE oid = to_regclass('sync_log'));
END $do$;

ALTER TABLE sync_log
  ADD COLUMN scope INTEGER,
  ADD COLUMN sensitivity SMALLINT,
  ADD COLUMN raised_to SMALLINT,
  ADD COLUMN source UUID,
  ADD COLUMN target UUID,
  DROP CONSTRAINT sync_log_kind_ck,
  ADD CONSTRAINT sync_log_kind_ck CHECK (kind BETWEEN 1 AND 3);

COMMENT ON COLUMN sync_log.kind IS '1 record, 2 relation, 3 run of learning';

COMMENT ON COLUMN sync_log.scope IS 'of a record that was deleted or raised, and of a run; null otherwise';

COMMENT ON COLUMN sync_log.sensitivity IS 'that a deleted or raised record had before, and of a run; null otherwise';

COMMENT ON COLUMN sync_log.raised_to IS 'the sensitivity that the change gave a record; null if it gave none';

COMMENT ON COLUMN sync_log.source IS 'of an open relation that was deleted; null otherwise';

COMMENT ON COLUMN sync_log.target IS 'of an open relation that was deleted; null otherwise';

RESET ROLE;
