-- What fell due while it waited for learning may go now: the episodes and their members.
WITH waiting AS (
  SELECT s.tenant, s.id FROM salience s JOIN record r ON r.tenant = s.tenant AND r.id = s.id
  WHERE s.tenant = :tenant AND s.due_at IS NULL AND s.deletion_policy = 1 AND NOT s.pinned
    AND s.id IN (SELECT unnest(CAST(:ids AS uuid[]))
                 UNION ALL
                 SELECT record FROM episode_event WHERE tenant = :tenant AND episode = ANY(CAST(:ids AS uuid[])))
    AND salience_at(s.s, s.t0, r.created_at, s.curve, s.half_life_s, s.min_salience, s.max_age_s, s.params, s.pinned,
                    :at) < :prune_below
  ORDER BY s.tenant, s.id FOR UPDATE OF s
)
UPDATE salience s SET due_at = :at FROM waiting w WHERE s.tenant = w.tenant AND s.id = w.id
