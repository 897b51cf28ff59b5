-- What a reader gets of a record (`r`, with its salience `s`): all of it up to the ceiling, its head above.
r.id, r.type, r.scope, r.sensitivity, r.state, r.confidence, r.tags, r.created_at, r.occurred_at, r.updated_at,
  r.version, s.s, s.t0, s.curve, s.half_life_s, s.min_salience, s.max_age_s, s.reinforcement_gain, s.params, s.pinned,
  s.deletion_policy, s.last_reinforced_at,
  CASE WHEN r.sensitivity <= :ceiling THEN r.name END AS name,
  CASE WHEN r.sensitivity <= :ceiling THEN r.text END AS text,
  CASE WHEN r.sensitivity <= :ceiling THEN r.payload END AS payload,
  CASE WHEN r.sensitivity <= :ceiling THEN r.provenance END AS provenance,
  CASE WHEN r.sensitivity <= :ceiling THEN r.interpretation END AS interpretation
