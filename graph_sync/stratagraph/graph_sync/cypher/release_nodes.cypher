// Make records writable again: reset guards that somebody replaced by something else, without which the worker cannot
// compare versions, and delete steps with the records' keys that are not connected with them. key: 0 ten, 1 id, 2 gen
UNWIND $keys AS key
CALL (key) {
  MATCH (n:Mirrored {ten: key[0], id: key[1]})
  WHERE NOT coalesce(n.gen IS :: INTEGER NOT NULL AND n.ver IS :: INTEGER NOT NULL AND 0 <= n.gen <= key[2], false)
  SET n.gen = -1, n.ver = -1
}
CALL (key) {
  MATCH (s:PlanStep) WHERE s.ten = key[0] AND s.id STARTS WITH key[1] + '/'
    AND NOT EXISTS { (s)<-[:HAS_STEP]-(n:Mirrored) WHERE n.ten = key[0] AND n.id = key[1] }
  DETACH DELETE s
}
