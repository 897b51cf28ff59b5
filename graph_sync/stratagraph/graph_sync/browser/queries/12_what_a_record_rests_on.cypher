// 12 What does a record rest on?
// The sources of $fact, and their own sources. Sources that were withdrawn are grey.
// :param ten => 1
// :param fact => 'Lantern runs on Redis'
MATCH path = (f:Memory {ten: $ten, name: $fact})<-[:DERIVED_SEMANTIC|SUPPORTS*1..4]-(source)
RETURN path
LIMIT 100
