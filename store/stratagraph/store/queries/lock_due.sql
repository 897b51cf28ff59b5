-- The longest due records, with what decides whether they go. Rows that somebody else holds are left to them; the
-- batch is cut before the join, so that a pass reads what is due and nothing else.
WITH due AS MATERIALIZED (
  SELECT s.* FROM salience s WHERE s.due_at <= :now ORDER BY s.due_at LIMIT :limit FOR UPDATE SKIP LOCKED
)
SELECT r.tenant, r.id, r.type, r.state, r.row_version, r.created_at, s.due_at, s.s, s.t0, s.curve, s.half_life_s,
  s.min_salience, s.max_age_s, s.reinforcement_gain, s.params, s.pinned, s.deletion_policy, s.last_reinforced_at
FROM due s JOIN record r ON r.tenant = s.tenant AND r.id = s.id
FOR UPDATE OF r SKIP LOCKED
