// How far the mirror is by its own account, the least of all cursors; read first, so that what follows is no older.
// Then the heaviest links of each frontier record, per direction, to other live records in full sight; none that
// somebody drew by hand. One record of columns: a streamed row costs more than the row itself.
CALL () {
  MATCH (c:SyncCheckpoint) WHERE c.k IN $checkpoints
  RETURN count(c) AS checkpoints, min(coalesce(c.gen, -1)) AS gen, min(coalesce(c.tick, -1)) AS tick
}
CALL () {
  UNWIND $frontier AS near
  MATCH (n:Mirrored {ten: $ten, id: near})
  CALL (n) {
    MATCH (n)-[r]->(m:Memory)
    WHERE m <> n AND SIGHT AND r.id IS NOT NULL AND NOT m.id IN $besides AND OUTWARD
    RETURN r, m, true AS outgoing ORDER BY r.w DESC, r.id LIMIT $most
    UNION ALL
    MATCH (n)<-[r]-(m:Memory)
    WHERE m <> n AND SIGHT AND r.id IS NOT NULL AND NOT m.id IN $besides AND INWARD
    RETURN r, m, false AS outgoing ORDER BY r.w DESC, r.id LIMIT $most
  }
  RETURN collect(near) AS near, collect(r.id) AS id, collect(m.id) AS far, collect(coalesce(r.w, 0.0)) AS weight,
    collect(outgoing) AS outgoing
}
RETURN checkpoints, gen, tick, near, id, far, weight, outgoing
