CREATE VIEW listed_record AS
SELECT r.tenant, r.id, r.type, r.scope, r.sensitivity, r.occurred_at, r.updated_at,
  CASE WHEN r.sensitivity <= caller_ceiling() THEN r.state END AS state
FROM record r;
