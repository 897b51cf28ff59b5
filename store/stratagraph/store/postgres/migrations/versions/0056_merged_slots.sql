-- A capture that asks for one value looks up whether a merge of entities had made its slot single-valued.

CREATE INDEX entity_merge_slot_slot_ix ON entity_merge_slot (tenant, scope, sensitivity, slot_key);

-- What a capture superseded since a merge is current again when it is undone, and what a revision decided is not.

ALTER TABLE entity_merge_record ADD COLUMN is_decided BOOLEAN DEFAULT false NOT NULL;

COMMENT ON COLUMN entity_merge_record.is_decided IS 'whether a revision since has decided that another record stands for it';
