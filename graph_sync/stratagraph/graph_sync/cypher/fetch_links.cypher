// Fetch the position of the mirror, then the heaviest links of each frontier record, per direction, to other live records
// that are fully visible to the caller and, if facts, hold at $at; no edge drawn by hand. The position is the lowest of
// all checkpoints and is read first, so that the links are no older. The answer is one row of columns: a streamed row
// costs more than its content. Where the nodes have more relationships than $most_read, hidden and past ones included,
// none is read.
CALL () {
  MATCH (c:SyncCheckpoint) WHERE c.k IN $checkpoints
  RETURN count(c) AS checkpoints, min(coalesce(c.gen, -1)) AS gen, min(coalesce(c.snapshot, -1)) AS snapshot
}
CALL () {
  UNWIND $frontier AS near
  MATCH (n:Mirrored {ten: $ten, id: near})
  RETURN collect(n) AS nodes, sum(COUNT { (n)--() }) AS relations
}
CALL (nodes, relations) {
  UNWIND CASE WHEN relations <= $most_read THEN nodes ELSE [] END AS n
  CALL (n) {
    MATCH (n)-[r]->(m:Memory)
    WHERE m <> n AND VISIBLE AND HOLDS AND r.id IS NOT NULL AND NOT m.id IN $excluded AND OUTWARD
    RETURN r, m, true AS outgoing ORDER BY r.w DESC, r.id LIMIT $most
    UNION ALL
    MATCH (n)<-[r]-(m:Memory)
    WHERE m <> n AND VISIBLE AND HOLDS AND r.id IS NOT NULL AND NOT m.id IN $excluded AND INWARD
    RETURN r, m, false AS outgoing ORDER BY r.w DESC, r.id LIMIT $most
  }
  RETURN collect(n.id) AS near, collect(r.id) AS id, collect(m.id) AS far, collect(coalesce(r.w, 0.0)) AS weight,
    collect(outgoing) AS outgoing
}
RETURN checkpoints, gen, snapshot, relations, near, id, far, weight, outgoing
