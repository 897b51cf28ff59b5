-- Of the records that provenance names, those that hold nothing any more: in doubt, withdrawn, deleted or erased. One
-- that was merely pruned held when it was learned from: a fact outlives the episode it came from.
SELECT id FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND state <> 1
UNION ALL
SELECT id FROM tombstone WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND cause <> 1
