CREATE VIEW record_head AS
SELECT r.tenant, r.id, r.type, r.scope, r.sensitivity, r.confidence, r.tags, r.created_at, r.occurred_at, r.updated_at,
  r.state <= 2 AS is_current, r.validity,
  CASE WHEN r.sensitivity <= caller_ceiling() THEN r.state END AS state,
  CASE WHEN r.sensitivity <= caller_ceiling() THEN r.version END AS version,
  s.s, s.t0, s.curve, s.half_life_s, s.min_salience, s.max_age_s, s.reinforcement_gain, s.params, s.pinned,
  s.deletion_policy, s.last_reinforced_at
FROM record r JOIN salience s ON s.tenant = r.tenant AND s.id = r.id;
