-- When the writer of a change began, so that the age of what a consumer lacks is known also before a snapshot sees it.
-- Earlier changes have none; the default is set apart, so that no row is rewritten.

SET LOCAL ROLE {maintenance};

ALTER TABLE sync_log ADD COLUMN began_at TIMESTAMP WITH TIME ZONE;

ALTER TABLE sync_log ALTER COLUMN began_at SET DEFAULT now();

COMMENT ON COLUMN sync_log.began_at IS 'when the writer''s transaction began; null for a change that an earlier release wrote';

RESET ROLE;

-- Which end of a relation is no longer current, so that traversal does not read what has been superseded: of a hub with
-- 100,000 relations of which 50 are current, it read 100,000. A hint: true only where the end is superseded or
-- retracted, and false also where that has not been noted.

ALTER TABLE relation ADD COLUMN source_past BOOLEAN DEFAULT false NOT NULL;

ALTER TABLE relation ADD COLUMN target_past BOOLEAN DEFAULT false NOT NULL;

COMMENT ON COLUMN relation.source_past IS 'true only where the source is superseded or retracted; may be false there too';

COMMENT ON COLUMN relation.target_past IS 'true only where the target is superseded or retracted; may be false there too';

UPDATE relation e SET source_past = true FROM record r
WHERE r.tenant = e.tenant AND r.id = e.source AND r.state > 2 AND e.ended_at IS NULL;

UPDATE relation e SET target_past = true FROM record r
WHERE r.tenant = e.tenant AND r.id = e.target AND r.state > 2 AND e.ended_at IS NULL;

CREATE INDEX relation_out_current_ix ON relation (tenant, source, weight DESC, id) INCLUDE (target, predicate) WHERE ended_at IS NULL AND NOT target_past;

CREATE INDEX relation_in_current_ix ON relation (tenant, target, weight DESC, id) INCLUDE (source, predicate) WHERE ended_at IS NULL AND NOT source_past;

DROP VIEW relation_in_sight;

CREATE VIEW relation_in_sight AS
SELECT e.tenant, e.id, e.source, e.target, e.predicate, e.weight, e.created_at, e.ended_at,
  a.scope AS source_scope, a.sensitivity AS source_sensitivity, a.is_current AS source_is_current,
  b.scope AS target_scope, b.sensitivity AS target_sensitivity, b.is_current AS target_is_current,
  a.validity AS source_validity, b.validity AS target_validity, e.source_past, e.target_past
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
