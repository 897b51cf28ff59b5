-- What ranks a record (`r`, with its salience `s`), and all that a caller sees of one that is redacted.
r.id, r.type, r.scope, r.sensitivity, r.state, r.confidence, r.tags, r.created_at, r.occurred_at, r.updated_at,
  r.version, s.s, s.t0, s.curve, s.half_life_s, s.min_salience, s.max_age_s, s.reinforcement_gain, s.params, s.pinned,
  s.deletion_policy, s.last_reinforced_at
