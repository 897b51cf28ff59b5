// 01 How fresh is this mirror?
// Everything committed before `shows_all_until` is here. Where `state` is not 'in step', wait a moment or see `note`.
MATCH (m:MirrorInfo)
RETURN m.state AS state, m.as_of AS shows_all_until, m.lag_seconds AS seconds_behind, m.changes_waiting AS changes_waiting,
  m.checked_at AS checked_at, m.generation AS generation, m.note AS note
LIMIT 10
