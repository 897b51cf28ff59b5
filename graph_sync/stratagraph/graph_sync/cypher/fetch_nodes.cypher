// Fetch everything the mirror shows of some nodes: labels, properties, the steps of plans with their tools and links, the
// tools called, and the tools that entities are. `unlinked` is an entity's tool if it exists without being linked to it.
UNWIND $ids AS id
MATCH (n:Mirrored {ten: $ten, id: id})
CALL (n) {
  OPTIONAL MATCH (n)-[:HAS_STEP]->(s:PlanStep)
  RETURN collect({id: s.id, op: s.op, acl: s.acl, tools: COLLECT { MATCH (s)-[:USES_TOOL]->(t:Tool) RETURN t.name }})
    AS steps
}
CALL (n) {
  OPTIONAL MATCH (n)-[:HAS_STEP]->(s:PlanStep)-[l:PRECEDES|FEEDS]->(t:PlanStep)
  RETURN collect({source: s.id, target: t.id, kind: type(l)}) AS links
}
RETURN collect({
  id: n.id, labels: labels(n), p: properties(n), steps: steps, links: links,
  called: COLLECT { MATCH (n)-[:USES_TOOL]->(t:Tool) RETURN t.name },
  is_tool: COLLECT { MATCH (n)-[:IS_TOOL]->(t:Tool) RETURN t.name },
  unlinked: COLLECT { MATCH (t:Tool {ten: n.ten, name: n.tool}) WHERE NOT EXISTS { (n)-[:IS_TOOL]->(t) } RETURN t.name }
}) AS found
