// How far the mirror is by its own account, the least of all cursors; read first, so that what follows is no older.
// Then the heaviest edges at each frontier record, per direction, whose far end is in sight. One record of columns: a
// streamed row costs more than the row itself. So does an item, hence the near end as its place in the frontier, and an
// edge's id and its far end's as one text; that is empty for an edge that somebody drew by hand.
CALL () {
  MATCH (c:SyncCheckpoint) WHERE c.k IN $checkpoints
  RETURN count(c) AS checkpoints, min(coalesce(c.gen, -1)) AS gen, min(coalesce(c.tick, -1)) AS tick
}
CALL () {
  UNWIND range(0, size($frontier) - 1) AS near
  MATCH (n:Mirrored {ten: $ten, id: $frontier[near]})
  CALL (n) {
    MATCH (n)-[r]->(m:Memory|HISTORY) WHERE SIGHT
    RETURN r, m ORDER BY r.w DESC, r.id LIMIT $fan_out
    UNION ALL
    MATCH (n)<-[r]-(m:Memory|HISTORY) WHERE SIGHT
    RETURN r, m ORDER BY r.w DESC, r.id LIMIT $fan_out
  }
  RETURN collect(near) AS near, collect(coalesce(r.id + m.id, '')) AS ids,
    collect(coalesce(r.w, 0.0)) AS weight, collect(coalesce(m.acl, -1)) AS acl
}
RETURN checkpoints, gen, tick, near, ids, weight, acl
