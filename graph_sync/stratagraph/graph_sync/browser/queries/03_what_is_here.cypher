// 03 What is here?
// How many records there are of each type and state, and when. Names above the mirror's level are not shown.
// :param ten => 1
MATCH (n:Mirrored)
WHERE n.ten = $ten AND n.id IS NOT NULL AND n.type IS NOT NULL
RETURN n.type AS type, n.state AS state, count(*) AS records, count(n.name) AS with_a_name,
  min(n.occurred_at) AS earliest, max(n.occurred_at) AS latest
ORDER BY records DESC
LIMIT 100
