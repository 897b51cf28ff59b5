-- copy_episode_terms_to_history --
-- Replace the search terms of closed episodes' history by their current ones, which come from the members left.
UPDATE record_history h SET terms = r.terms, impacts = r.impacts
FROM record r
WHERE r.tenant = h.tenant AND r.id = h.id AND h.tenant = :tenant AND h.id = ANY(CAST(:ids AS uuid[])) AND h.terms <> '{}'
RETURNING h.id, h.row_version

-- lock_episodes_of --
-- Lock the episodes that the given records are or belong to, in the order in which writers lock episodes.
SELECT id, scope, closed_at IS NOT NULL AS is_closed FROM episode
WHERE tenant = :tenant AND id IN (
  SELECT episode FROM episode_event WHERE tenant = :tenant AND record = ANY(CAST(:ids AS uuid[]))
  UNION ALL
  SELECT unnest(CAST(:ids AS uuid[])))
ORDER BY scope, sensitivity, thread_key, id FOR UPDATE

-- recount_episodes --
-- Update the number of events and the last record of locked episodes.
-- The count of an open episode is also the position of its next event, so it is left as it is.
UPDATE episode e SET
  events = CASE WHEN e.closed_at IS NULL THEN e.events
    ELSE (SELECT count(*) FROM episode_event v WHERE v.tenant = e.tenant AND v.episode = e.id) END,
  last_record = (SELECT v.record FROM episode_event v WHERE v.tenant = e.tenant AND v.episode = e.id
    ORDER BY v.position DESC LIMIT 1)
WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[]))
