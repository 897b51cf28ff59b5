// 11 How are two things connected?
// The shortest paths between the entities $name and $other, of at most six relations.
// :param ten => 1
// :param name => 'Lantern'
// :param other => 'Alice'
MATCH (a:Memory {ten: $ten, name: $name})
WHERE a:Entity
MATCH (b:Memory {ten: $ten, name: $other})
WHERE b:Entity AND b <> a
MATCH path = allShortestPaths((a)-[*..6]-(b))
WHERE all(n IN nodes(path) WHERE n:Memory)
RETURN path
LIMIT 20
