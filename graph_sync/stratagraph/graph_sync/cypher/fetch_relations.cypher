// Fetch everything the mirror shows of some relations of one type: both ends and properties. key: 0 ten, 1 id
// Points in time are returned as in fetch_nodes.
UNWIND $keys AS key
MATCH (a)-[r:`TYPE` {ten: key[0], id: key[1]}]->(b)
RETURN collect([
  id(r), key[0], key[1],
  a:Mirrored AND coalesce(a.ten = key[0], false), a.id, b:Mirrored AND coalesce(b.ten = key[0], false), b.id, r {
    .*,
    created_at: CASE WHEN r.created_at IS :: ZONED DATETIME NOT NULL
      THEN ['datetime', r.created_at.epochSeconds, r.created_at.nanosecond, r.created_at.offsetSeconds] ELSE r.created_at END
  }
]) AS found
