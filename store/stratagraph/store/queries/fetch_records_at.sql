-- Records as they were, each at an instant of its own (:ids and :instants run in step), for who may see them in full
-- both then and now. Their salience follows from the last event before, and from how they decayed at that time.
SELECT asked.at AS instant, r.*, s.*
FROM unnest(CAST(:ids AS uuid[]), CAST(:instants AS timestamptz[])) AS asked(id, at)
JOIN record n ON n.tenant = :tenant AND n.id = asked.id AND n.created_at <= asked.at
  AND (:all_scopes OR n.scope = ANY(CAST(:scopes AS integer[]))) AND n.sensitivity <= :ceiling
CROSS JOIN LATERAL (
  SELECT n.id, n.type, n.scope, n.sensitivity, n.state, n.confidence, n.tags, n.name, n.text,
    n.payload, n.provenance, n.interpretation, n.sealed, n.created_at, n.occurred_at, n.updated_at, n.version
  WHERE n.updated_at <= asked.at
  UNION ALL
  (SELECT h.id, h.type, h.scope, h.sensitivity, h.state, h.confidence, h.tags, h.name, h.text,
    h.payload, h.provenance, h.interpretation, h.sealed, n.created_at, h.occurred_at, h.from_at, h.version
   FROM record_history h
   WHERE n.updated_at > asked.at AND h.tenant = n.tenant AND h.id = n.id AND h.from_at <= asked.at AND asked.at < h.to_at
   ORDER BY h.row_version DESC LIMIT 1)
) r
CROSS JOIN LATERAL (
  SELECT event.salience AS s, event.at AS t0, curve, half_life_s, min_salience, max_age_s, reinforcement_gain, params,
    pinned, deletion_policy, (
      SELECT a.at FROM audit a
      WHERE a.tenant = n.tenant AND a.id = n.id AND a.at <= asked.at AND a.action IN ('create', 'reinforce')
      ORDER BY a.seq DESC LIMIT 1) AS last_reinforced_at
  FROM (
    SELECT a.salience, a.at FROM audit a
    WHERE a.tenant = n.tenant AND a.id = n.id AND a.at <= asked.at AND a.salience IS NOT NULL
    ORDER BY a.seq DESC LIMIT 1
  ) event
  CROSS JOIN (
    SELECT l.to_at, l.curve, l.half_life_s, l.min_salience, l.max_age_s, l.reinforcement_gain, l.params, l.pinned,
      l.deletion_policy
    FROM lifecycle_history l WHERE l.tenant = n.tenant AND l.id = n.id AND l.to_at > asked.at
    UNION ALL
    SELECT 'infinity', p.curve, p.half_life_s, p.min_salience, p.max_age_s, p.reinforcement_gain, p.params, p.pinned,
      p.deletion_policy
    FROM salience p WHERE p.tenant = n.tenant AND p.id = n.id
    ORDER BY to_at LIMIT 1
  ) lifecycle
) s
WHERE (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
