-- When each worker last completed a pass over the feed. Grants and policies of the table cover the column.

ALTER TABLE sync_worker ADD COLUMN followed_at TIMESTAMP WITH TIME ZONE;

COMMENT ON COLUMN sync_worker.followed_at IS 'when it last completed a pass over the feed; null before the first';

-- When the mirror was last maintained, whichever worker led

ALTER TABLE mirror_leader ADD COLUMN maintained_at TIMESTAMP WITH TIME ZONE;

COMMENT ON COLUMN mirror_leader.maintained_at IS 'when a leader last completed a pass of maintenance, or a page of a rebuild';
