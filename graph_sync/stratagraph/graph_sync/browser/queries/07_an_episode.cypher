// 07 An episode, from beginning to end
// The records of $episode: what followed what, which call depended on which, which tools were used.
// :param ten => 1
// :param episode => 'Episode login outage, success'
MATCH (e:Memory {ten: $ten, name: $episode})<-[p:PART_OF]-(m:Memory)
OPTIONAL MATCH (m)-[r:FOLLOWS|DEPENDS_ON|USES_TOOL]->(x:Memory|Tool)
RETURN e, p, m, r, x
ORDER BY m.occurred_at
LIMIT 200
