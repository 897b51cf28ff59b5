-- The first members of each episode, in order of arrival.
SELECT v.episode, r.id, r.name, r.text, r.occurred_at, r.payload #>> '{tool_graph,0,tool}' AS tool, r.sealed
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
  SELECT episode, record, position FROM episode_event
  WHERE tenant = :tenant AND episode = asked.id ORDER BY position LIMIT :most
) v
JOIN record r ON r.tenant = :tenant AND r.id = v.record
ORDER BY v.episode, v.position
