// 01 How fresh is this mirror?
// Every change committed before `shows_all_until` is shown. If `state` is not 'in step', wait or read `note`.
// `compared_at` is null until everything has been compared once.
MATCH (m:MirrorInfo)
WITH properties(m) AS info
RETURN CASE WHEN info.checked_at < datetime() - duration({minutes: 1}) THEN 'unknown' ELSE info.state END AS state,
  info.as_of AS shows_all_until, info.lag_seconds AS seconds_behind, info.changes_waiting AS changes_waiting,
  info.checked_at AS checked_at, info.compared_at AS compared_at,
  info.found AS found, info.found_since AS found_since,
  info.generation AS generation, info.note AS note
LIMIT 10
