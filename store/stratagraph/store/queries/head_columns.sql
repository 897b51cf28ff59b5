-- A record's head (`h`, of the view record_head): what ranks it, and all that a caller sees of one that is redacted.
h.id, h.type, h.scope, h.sensitivity, h.is_current, h.state, h.confidence, h.tags, h.created_at, h.occurred_at,
  h.updated_at, h.version, h.s, h.t0, h.curve, h.half_life_s, h.min_salience, h.max_age_s, h.reinforcement_gain,
  h.params, h.pinned, h.deletion_policy, h.last_reinforced_at
