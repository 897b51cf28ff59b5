-- A mirror that is an old copy is rewound: the changes since are applied again. It does not answer until that is done.

ALTER TABLE mirror_generation DROP CONSTRAINT mirror_generation_state_ck;

ALTER TABLE mirror_generation ADD CONSTRAINT mirror_generation_state_ck CHECK (state IN ('building', 'refreshing', 'rewinding', 'active', 'retired'));

ALTER TABLE mirror_generation ADD COLUMN rewound_at TIMESTAMP WITH TIME ZONE;

ALTER TABLE mirror_generation ADD COLUMN rewound_until BIGINT;

ALTER TABLE mirror_generation ADD COLUMN rewound_changes BIGINT;

COMMENT ON COLUMN mirror_generation.rewound_at IS 'when an old copy of the mirror was last found and rewound';

COMMENT ON COLUMN mirror_generation.rewound_until IS 'the snapshot whose changes must all be applied before the mirror answers again';

COMMENT ON COLUMN mirror_generation.rewound_changes IS 'changes in the log that the copy lacked';

-- The log keeps everything that any stored snapshot does not see. So far it kept what the cursors had not read.

DELETE FROM sync_snapshot WHERE id < (SELECT min(snapshot) FROM sync_cursor);

-- Snapshots are kept for a day instead of an hour

CREATE INDEX sync_snapshot_at_ix ON sync_snapshot (at);
