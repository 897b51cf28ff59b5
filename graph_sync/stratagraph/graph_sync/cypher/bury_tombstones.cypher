// Tombstones guard against what is late. After a day nothing is.
CALL () {
  MATCH (n:Tomb) WHERE n.at < datetime() - duration('P1D') AND NOT EXISTS { (n)--() } RETURN n AS t LIMIT $most
  UNION ALL
  MATCH (r:RelTomb) WHERE r.at < datetime() - duration('P1D') RETURN r AS t LIMIT $most
}
DELETE t
RETURN count(*) AS buried
