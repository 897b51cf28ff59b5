-- Snapshots of the change feed. Grants, policies and row-level security follow a renamed table.

ALTER TABLE sync_tick RENAME TO sync_snapshot;

ALTER TABLE sync_snapshot RENAME CONSTRAINT sync_tick_pk TO sync_snapshot_pk;

ALTER SEQUENCE sync_tick_id_seq RENAME TO sync_snapshot_id_seq;

-- Positions of the consumers

ALTER TABLE sync_cursor RENAME COLUMN tick TO snapshot;

ALTER TABLE sync_cursor RENAME COLUMN win_tick TO window_snapshot;

ALTER TABLE sync_cursor RENAME COLUMN win_seq TO window_seq;

COMMENT ON COLUMN sync_cursor.snapshot IS 'every change that this snapshot sees is applied';

COMMENT ON COLUMN sync_cursor.window_snapshot IS 'the end of the window being read';

COMMENT ON COLUMN sync_cursor.window_seq IS 'the last applied change of the window being read';

COMMENT ON COLUMN sync_cursor.rereads IS 'may be deleted: its consumer reads everything again';

-- Changes that the mirror refused

ALTER TABLE sync_parked RENAME TO sync_dead_letter;

ALTER TABLE sync_dead_letter RENAME CONSTRAINT sync_parked_pk TO sync_dead_letter_pk;

-- The worker that maintains a mirror

ALTER TABLE mirror_keeper RENAME TO mirror_leader;

ALTER TABLE mirror_leader RENAME CONSTRAINT mirror_keeper_pk TO mirror_leader_pk;

COMMENT ON COLUMN mirror_leader.checked_id IS 'the key after which the running scrub continues';

COMMENT ON COLUMN mirror_leader.drift IS 'differences found by the running scrub, by class';

COMMENT ON COLUMN mirror_leader.last_drift IS 'differences found by the last complete scrub, by class';

COMMENT ON COLUMN mirror_generation.tenant IS 'the tenant whose rows are rewritten; null for all tenants';

COMMENT ON COLUMN mirror_generation.total IS 'estimated number of rows when it began';

-- PostgreSQL 18 names NOT NULL constraints after their table and column, and keeps these names when either is renamed.

DO $$
DECLARE
  stale record;
BEGIN
  FOR stale IN
    SELECT c.conname, r.relname, format('%s_%s_not_null', r.relname, a.attname) AS new_name
    FROM pg_constraint c
    JOIN pg_class r ON r.oid = c.conrelid
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
    WHERE c.contype = 'n' AND r.oid IN (
      'sync_snapshot'::regclass, 'sync_cursor'::regclass, 'sync_dead_letter'::regclass, 'mirror_leader'::regclass)
  LOOP
    IF stale.conname <> stale.new_name THEN
      EXECUTE format('ALTER TABLE %I RENAME CONSTRAINT %I TO %I', stale.relname, stale.conname, stale.new_name);
    END IF;
  END LOOP;
END
$$;
