// Fetch the position of the mirror, then the heaviest edges of each frontier record, per direction, whose far end is
// visible to the caller and, if a fact, holds at $at; those to redacted records after all others. The position is the
// lowest of all checkpoints and is read first, so that the edges are no older. The answer is one row of columns: a
// streamed row costs more than its content. So does each item, hence the near end as its index in the frontier, and the
// edge's id and its far end's as one text, empty for an edge drawn by hand. Where the nodes have more relationships than
// $most_read, hidden and past ones included, none is read.
CALL () {
  MATCH (c:SyncCheckpoint) WHERE c.k IN $checkpoints
  RETURN count(c) AS checkpoints, min(coalesce(c.gen, -1)) AS gen, min(coalesce(c.snapshot, -1)) AS snapshot
}
CALL () {
  UNWIND range(0, size($frontier) - 1) AS near
  MATCH (n:Mirrored {ten: $ten, id: $frontier[near]})
  RETURN collect(near) AS nears, collect(n) AS nodes, sum(COUNT { (n)--() }) AS relations
}
CALL (nears, nodes, relations) {
  UNWIND CASE WHEN relations <= $most_read THEN range(0, size(nodes) - 1) ELSE [] END AS position
  WITH nears[position] AS near, nodes[position] AS n
  CALL (n) {
    MATCH (n)-[r]->(m:Memory|HISTORY) WHERE VISIBLE AND HOLDS
    RETURN r, m ORDER BY REDACTED, r.w DESC, r.id LIMIT $fan_out
    UNION ALL
    MATCH (n)<-[r]-(m:Memory|HISTORY) WHERE VISIBLE AND HOLDS
    RETURN r, m ORDER BY REDACTED, r.w DESC, r.id LIMIT $fan_out
  }
  RETURN collect(near) AS near, collect(coalesce(r.id + m.id, '')) AS ids,
    collect(coalesce(r.w, 0.0)) AS weight, collect(coalesce(m.acl, -1)) AS acl
}
RETURN checkpoints, gen, snapshot, relations, near, ids, weight, acl
