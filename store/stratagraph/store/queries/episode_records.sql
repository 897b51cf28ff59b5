-- The records of each episode, in order of arrival.
SELECT v.episode, v.record
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
  SELECT episode, record, position FROM episode_event
  WHERE tenant = :tenant AND episode = asked.id ORDER BY position LIMIT :most
) v
ORDER BY v.episode, v.position
