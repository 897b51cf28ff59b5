-- Grants and policies of the table cover the columns.

ALTER TABLE mirror_leader
  ADD COLUMN check_rows BIGINT DEFAULT 0 NOT NULL,
  ADD COLUMN last_check_began_at TIMESTAMP WITH TIME ZONE,
  ADD COLUMN last_check_rows BIGINT,
  ALTER COLUMN checked_kind SET DEFAULT 0;

-- The running scrub begins anew, with the constraints.

UPDATE mirror_leader SET checked_kind = 0, checked_tenant = 0, checked_id = NULL, check_began_at = NULL;

COMMENT ON COLUMN mirror_leader.checked_kind IS 'what the running scrub compares: 0 constraints, 1 nodes, 2 relationships, 3 records, 4 relations';

COMMENT ON COLUMN mirror_leader.checked_tenant IS 'of the key after which the running scrub continues; of nodes and relationships the next internal id';

COMMENT ON COLUMN mirror_leader.check_rows IS 'rows, nodes and relationships that the running scrub has compared';

COMMENT ON COLUMN mirror_leader.last_check_began_at IS 'when the last complete scrub began';

COMMENT ON COLUMN mirror_leader.last_checked_at IS 'when the last complete scrub ended';

COMMENT ON COLUMN mirror_leader.last_check_rows IS 'rows, nodes and relationships that it compared';
