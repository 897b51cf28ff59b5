// 13 What rests on a record?
// What was derived from $source, and what from that: the records to review if it turns out to be wrong. Of a call, the
// calls that used its result; of a commit, those after it.
// :param ten => 1
// :param source => 'search_logs'
MATCH path = (s:Memory {ten: $ten, name: $source})
  ((a)-[r:DERIVED_SEMANTIC|SUPPORTS|DEPENDS_ON|FOLLOWS]-(b)
    WHERE (type(r) IN ['DERIVED_SEMANTIC', 'SUPPORTS'] AND startNode(r) = a)
      OR (type(r) = 'DEPENDS_ON' AND startNode(r) = b)
      OR (type(r) = 'FOLLOWS' AND startNode(r) = b AND a:Commit)){1,4}
  (learned)
RETURN path
LIMIT 100
