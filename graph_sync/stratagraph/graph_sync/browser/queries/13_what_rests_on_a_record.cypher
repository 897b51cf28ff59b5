// 13 What rests on a record?
// What was learned from $source, and what from that: what to look at again should it turn out to be wrong.
// :param ten => 1
// :param source => 'search_logs'
MATCH path = (s:Memory {ten: $ten, name: $source})-[:DERIVED_SEMANTIC|SUPPORTS*1..4]->(learned)
RETURN path
LIMIT 100
