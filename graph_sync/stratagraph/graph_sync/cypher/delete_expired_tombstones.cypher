// Delete tombstones that are older than a day: no change can be that late. Relationships that people drew to one do not
// keep it.
CALL () {
  MATCH (n:Tomb) WHERE n.at < datetime() - duration('P1D') AND NOT EXISTS { (n)--(:Mirrored) } RETURN n AS t LIMIT $limit
  UNION ALL
  MATCH (r:RelTomb) WHERE r.at < datetime() - duration('P1D') RETURN r AS t LIMIT $limit
}
DETACH DELETE t
RETURN count(*) AS deleted
