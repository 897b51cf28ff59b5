-- Names that differ in the kind of an apostrophe, quote or hyphen, in invisible characters, or in underscores for spaces
-- are one: the job `rekey` gives the names of entities the keys that captures compute now.

INSERT INTO rekeying (tenant) SELECT id FROM tenant ON CONFLICT (tenant) DO UPDATE SET after = NULL;

ALTER TABLE link_request ADD COLUMN unites BOOLEAN DEFAULT false NOT NULL;

COMMENT ON COLUMN link_request.unites IS 'whether an upgrade has given it other keys, so that it may meet entities of its name';

-- Words and identifiers with such characters are analysed alike: older records get the terms that they lack.

INSERT INTO reanalysis (tenant) SELECT id FROM tenant ON CONFLICT (tenant) DO UPDATE SET after = NULL;

-- At most so many pairs of one writer are listed in one scope and sensitivity.

ALTER TABLE duplicate_pair ADD COLUMN writer TEXT;

COMMENT ON COLUMN duplicate_pair.writer IS 'the actor that captured the newer record; null: rejected, or not compared since';

CREATE INDEX duplicate_pair_writer_ix ON duplicate_pair (tenant, scope, sensitivity, writer, minus_score, one, other)
  WHERE state = 1;

-- All entities and facts are compared again: a type is a hint now, and an alias of one side is no evidence of a merge.

UPDATE duplicate_progress SET is_filling = true, after_tenant = NULL, after_id = NULL;
