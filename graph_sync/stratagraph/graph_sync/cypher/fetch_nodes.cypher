// Fetch everything the mirror shows of some nodes: labels, properties, and the steps of plans with their links.
UNWIND $ids AS id
MATCH (n:Mirrored {ten: $ten, id: id})
CALL (n) { OPTIONAL MATCH (n)-[:HAS_STEP]->(s:PlanStep) RETURN collect({id: s.id, op: s.op, acl: s.acl}) AS steps }
CALL (n) {
  OPTIONAL MATCH (n)-[:HAS_STEP]->(s:PlanStep)-[l:PRECEDES|FEEDS]->(t:PlanStep)
  RETURN collect({source: s.id, target: t.id, kind: type(l)}) AS links
}
RETURN collect({id: n.id, labels: labels(n), p: properties(n), steps: steps, links: links}) AS found
