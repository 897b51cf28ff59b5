// 12 What does a record rest on?
// The sources of $fact, and their own sources; of a call, the calls whose results it used; of a commit, those before
// it. Sources that were withdrawn are grey.
// :param ten => 1
// :param fact => 'Lantern runs on Redis'
MATCH path = (f:Memory {ten: $ten, name: $fact})
  ((a)-[r:DERIVED_SEMANTIC|SUPPORTS|DEPENDS_ON|FOLLOWS]-(b)
    WHERE (type(r) IN ['DERIVED_SEMANTIC', 'SUPPORTS'] AND startNode(r) = b)
      OR (type(r) = 'DEPENDS_ON' AND startNode(r) = a)
      OR (type(r) = 'FOLLOWS' AND startNode(r) = a AND a:Commit)){1,4}
  (source)
RETURN path
LIMIT 100
