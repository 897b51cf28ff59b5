-- An episode is learned from again only if none of its members has been deleted since.

ALTER TABLE episode ADD COLUMN learned_events INTEGER;

COMMENT ON COLUMN episode.learned_events IS 'members that it had when a stage of learning last read it';

CREATE INDEX episode_learned_by_ix ON episode (tenant, learned_by) WHERE learned_by IS NOT NULL;
