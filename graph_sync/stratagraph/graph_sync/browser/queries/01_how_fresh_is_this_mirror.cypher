// 01 How fresh is this mirror?
// Every change committed before `shows_all_until` is shown. If `state` is not 'in step', wait or read `note`.
MATCH (m:MirrorInfo)
RETURN CASE WHEN m.checked_at < datetime() - duration({minutes: 1}) THEN 'unknown' ELSE m.state END AS state,
  m.as_of AS shows_all_until, m.lag_seconds AS seconds_behind, m.changes_waiting AS changes_waiting,
  m.checked_at AS checked_at, m.compared_at AS compared_at, m.found AS found, m.generation AS generation, m.note AS note
LIMIT 10
