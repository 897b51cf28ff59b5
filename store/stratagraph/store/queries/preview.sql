-- What would be pruned by :until, in order of its due instant. Held back are members of episodes that learning has not
-- read, and entities with a relation to a current record that would not be gone by then.
SELECT s.id, s.due_at
FROM salience s JOIN record r ON r.tenant = s.tenant AND r.id = s.id
WHERE s.tenant = :tenant AND s.due_at <= :until
  AND (CAST(:after_due AS timestamptz) IS NULL
       OR (s.due_at, s.id) > (CAST(:after_due AS timestamptz), CAST(:after_id AS uuid)))
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
  AND (r.type <> 1 OR NOT EXISTS (
    SELECT FROM episode e WHERE e.tenant = s.tenant AND e.learned_at IS NULL AND (e.id = s.id
      OR e.id IN (SELECT v.episode FROM episode_event v WHERE v.tenant = s.tenant AND v.record = s.id))))
  AND (r.type <> 3 OR NOT EXISTS (
    SELECT FROM (
      SELECT e.source AS far FROM relation_in_sight e WHERE e.tenant = s.tenant AND e.target = s.id
        AND e.ended_at IS NULL
      UNION ALL
      SELECT e.target FROM relation_in_sight e WHERE e.tenant = s.tenant AND e.source = s.id AND e.ended_at IS NULL
    ) e
    JOIN record n ON n.tenant = s.tenant AND n.id = e.far
    JOIN salience ns ON ns.tenant = s.tenant AND ns.id = e.far
    WHERE n.state <= 2 AND (:all_scopes OR n.scope = ANY(CAST(:scopes AS integer[]))) AND n.sensitivity <= :ceiling
      AND (ns.due_at IS NULL OR ns.due_at > :until OR n.type = 1 AND EXISTS (
        SELECT FROM episode u WHERE u.tenant = s.tenant AND u.learned_at IS NULL AND (u.id = n.id
          OR u.id IN (SELECT v.episode FROM episode_event v WHERE v.tenant = s.tenant AND v.record = n.id))))))
ORDER BY s.due_at, s.id LIMIT :first
