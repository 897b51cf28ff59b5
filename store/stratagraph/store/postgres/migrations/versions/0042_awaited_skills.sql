-- Episodes that count for a skill which has not succeeded often enough to be made. Pruning keeps them for it, as long as
-- it keeps what learning has not read.

ALTER TABLE episode ADD COLUMN awaits_skill BOOLEAN DEFAULT false NOT NULL;

COMMENT ON COLUMN episode.awaits_skill IS 'learned from, but its skill is not made yet';

UPDATE episode e SET awaits_skill = true
FROM learned_signature s WHERE s.tenant = e.tenant AND s.episode = e.id;

-- By which an erasure of a pruned record finds what was learned from it.

ALTER TABLE tombstone ADD COLUMN learned UUID[] DEFAULT '{}' NOT NULL;

COMMENT ON COLUMN tombstone.learned IS 'the episodes of the record, and what was learned from it; none once it is erased';
