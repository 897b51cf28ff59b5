-- From whom an end of a relation is hidden, and until when it holds, so that traversal passes over such relations in the
-- index: of a hub with 100,000 facts of which a caller may read 50, it looked up both ends of each. Hints: a record's
-- scope never changes and its sensitivity never falls, and an end that holds for longer has no instant noted.

ALTER TABLE relation
  ADD COLUMN source_acl INTEGER,
  ADD COLUMN target_acl INTEGER,
  ADD COLUMN source_until TIMESTAMP WITH TIME ZONE,
  ADD COLUMN target_until TIMESTAMP WITH TIME ZONE;

COMMENT ON COLUMN relation.source_acl IS '8 * scope + the least sensitivity of the source; null if not noted';

COMMENT ON COLUMN relation.target_acl IS '8 * scope + the least sensitivity of the target; null if not noted';

COMMENT ON COLUMN relation.source_until IS 'the source does not hold from then on; null if not noted';

COMMENT ON COLUMN relation.target_until IS 'the target does not hold from then on; null if not noted';

DROP INDEX relation_out_current_ix;

DROP INDEX relation_in_current_ix;

-- Who may read one end may read the other where both have the same scope and sensitivity, so those need no hint.

UPDATE relation e SET
  source_acl = a.scope * 8 + a.sensitivity, target_acl = b.scope * 8 + b.sensitivity,
  source_until = upper(a.validity), target_until = upper(b.validity)
FROM record a, record b
WHERE a.tenant = e.tenant AND a.id = e.source AND b.tenant = e.tenant AND b.id = e.target AND e.ended_at IS NULL
  AND ((a.scope, a.sensitivity) <> (b.scope, b.sensitivity) OR upper(a.validity) IS NOT NULL OR upper(b.validity) IS NOT NULL);

CREATE INDEX relation_out_current_ix ON relation (tenant, source, weight DESC, id) INCLUDE (target, predicate, target_acl, target_until) WHERE ended_at IS NULL AND NOT target_past;

CREATE INDEX relation_in_current_ix ON relation (tenant, target, weight DESC, id) INCLUDE (source, predicate, source_acl, source_until) WHERE ended_at IS NULL AND NOT source_past;

DROP VIEW relation_in_sight;

CREATE VIEW relation_in_sight AS
SELECT e.tenant, e.id, e.source, e.target, e.predicate, e.weight, e.created_at, e.ended_at,
  a.scope AS source_scope, a.sensitivity AS source_sensitivity, a.is_current AS source_is_current,
  b.scope AS target_scope, b.sensitivity AS target_sensitivity, b.is_current AS target_is_current,
  a.validity AS source_validity, b.validity AS target_validity, e.source_past, e.target_past,
  e.source_acl, e.target_acl, e.source_until, e.target_until
FROM relation e
CROSS JOIN LATERAL (
  SELECT r.scope, r.sensitivity, r.state <= 2 AS is_current, r.validity FROM record r
  WHERE r.tenant = e.tenant AND r.id = e.source LIMIT 1
) a
CROSS JOIN LATERAL (
  SELECT r.scope, r.sensitivity, r.state <= 2 AS is_current, r.validity FROM record r
  WHERE r.tenant = e.tenant AND r.id = e.target LIMIT 1
) b
WHERE least(a.sensitivity, b.sensitivity) <= (SELECT caller_ceiling());

GRANT SELECT ON relation_in_sight TO {read}, {write}, {jobs}, {erase};

GRANT CREATE ON SCHEMA {schema} TO {heads};

ALTER VIEW relation_in_sight OWNER TO {heads};

REVOKE CREATE ON SCHEMA {schema} FROM {heads};

-- What is known of a mirror's damage, so that no question is answered from it until it is repaired. Grants and policies
-- of the table cover the columns.

ALTER TABLE mirror_leader
  ADD COLUMN damaged_at TIMESTAMP WITH TIME ZONE,
  ADD COLUMN repaired_by xid8,
  ADD COLUMN needs_scrub BOOLEAN DEFAULT false NOT NULL;

COMMENT ON COLUMN mirror_leader.damaged_at IS 'when differences were last found; null if a scrub that began later found none';

COMMENT ON COLUMN mirror_leader.repaired_by IS 'a transaction after which the repairs of all that was found are logged; null while some are not';

COMMENT ON COLUMN mirror_leader.needs_scrub IS 'whether so much was found that the mirror must not answer before a complete scrub finds nothing';
