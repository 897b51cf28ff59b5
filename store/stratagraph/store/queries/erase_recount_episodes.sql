-- What is left of locked episodes. While one is open its count is also the place of its next event, so it stays.
UPDATE episode e SET
  events = CASE WHEN e.closed_at IS NULL THEN e.events
    ELSE (SELECT count(*) FROM episode_event v WHERE v.tenant = e.tenant AND v.episode = e.id) END,
  last_record = (SELECT v.record FROM episode_event v WHERE v.tenant = e.tenant AND v.episode = e.id
    ORDER BY v.position DESC LIMIT 1)
WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[]))
