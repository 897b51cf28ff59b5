// Fetch everything the mirror shows of some records: labels, properties, what hangs on them (steps and tools), the links
// between steps, and `unlinked`: an entity's tool, if it exists without being linked to it. key: 0 ten, 1 id
// Points in time are returned as numbers, because to convert them takes the driver longer than all the rest. The word in
// the list keeps it apart from any list that a property can be.
UNWIND $keys AS key
MATCH (n:Mirrored {ten: key[0], id: key[1]})
RETURN collect([
  key[0], key[1], labels(n), n {
    .*,
    created_at: CASE WHEN n.created_at IS :: ZONED DATETIME NOT NULL
      THEN ['datetime', n.created_at.epochSeconds, n.created_at.nanosecond, n.created_at.offsetSeconds] ELSE n.created_at END,
    occurred_at: CASE WHEN n.occurred_at IS :: ZONED DATETIME NOT NULL
      THEN ['datetime', n.occurred_at.epochSeconds, n.occurred_at.nanosecond, n.occurred_at.offsetSeconds] ELSE n.occurred_at END
  },
  COLLECT {
    MATCH (n)-[r:HAS_STEP|USES_TOOL|IS_TOOL]->(m:PlanStep|Tool) WHERE NOT m:Mirrored
    RETURN [type(r), properties(r), labels(m), properties(m)] LIMIT $most
  },
  COLLECT {
    MATCH (n)-[:HAS_STEP]->(s:PlanStep)-[l:PRECEDES|FEEDS|USES_TOOL]->(t:PlanStep|Tool)
    WHERE NOT s:Mirrored AND NOT t:Mirrored
    RETURN [s.id, type(l), properties(l), t.ten, t.id, CASE WHEN t:Tool THEN t.name END] LIMIT $most
  },
  CASE WHEN n.tool IS NULL THEN [] ELSE
    COLLECT { MATCH (t:Tool {ten: key[0], name: n.tool}) WHERE NOT EXISTS { (n)-[:IS_TOOL]->(t) } RETURN t.name LIMIT 1 }
  END
]) AS found
