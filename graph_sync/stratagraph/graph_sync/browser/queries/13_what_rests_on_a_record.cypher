// 13 What rests on a record?
// What was derived from $source, and what from that: the records to review if it turns out to be wrong.
// :param ten => 1
// :param source => 'search_logs'
MATCH path = (s:Memory {ten: $ten, name: $source})-[:DERIVED_SEMANTIC|SUPPORTS*1..4]->(learned)
RETURN path
LIMIT 100
