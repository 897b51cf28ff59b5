-- A capture that asks for one value looks up whether a merge of entities had made its slot single-valued.

CREATE INDEX entity_merge_slot_slot_ix ON entity_merge_slot (tenant, scope, sensitivity, slot_key);
