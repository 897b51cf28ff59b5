// The heaviest edges at each frontier record, per direction, whose far end is in sight. One record of columns:
// a streamed row costs more than the row itself.
UNWIND $frontier AS near
MATCH (n:Mirrored {ten: $ten, id: near})
CALL (n) {
  MATCH (n)-[r]->(m:Memory|HISTORY) WHERE SIGHT
  RETURN r, m ORDER BY r.w DESC, r.id LIMIT $fan_out
  UNION ALL
  MATCH (n)<-[r]-(m:Memory|HISTORY) WHERE SIGHT
  RETURN r, m ORDER BY r.w DESC, r.id LIMIT $fan_out
}
RETURN collect(near) AS near, collect(r.id) AS id, collect(m.id) AS far, collect(r.w) AS weight, collect(m.acl) AS acl
