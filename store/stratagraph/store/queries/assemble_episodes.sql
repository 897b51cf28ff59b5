-- Timeline and tool graph of episodes from the members in full sight.
SELECT v.episode, v.record, r.payload -> 'timeline' AS timeline, r.payload -> 'tool_graph' AS tool_graph, r.sealed
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
  SELECT episode, record, position FROM episode_event
  WHERE tenant = :tenant AND episode = asked.id ORDER BY position LIMIT :most
) v
JOIN record r ON r.tenant = :tenant AND r.id = v.record
WHERE (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
ORDER BY v.episode, v.position
