// Classify relationships, given by their internal ids: relations, whose keys are to be looked up in Postgres, and foreign
// ones between nodes that are the mirror's. Those that lead to other people's nodes are left alone, except what the worker
// wrote to a node that has lost its label, which is called a remnant.
UNWIND $elements AS element
MATCH (a)-[r]->(b) WHERE id(r) = element AND (a:OWN OR b:OWN)
WITH a, r, b, CASE
  WHEN a:Mirrored AND b:Mirrored THEN CASE
    WHEN type(r) IN $types AND r.ten IS :: INTEGER NOT NULL AND r.id IS :: STRING NOT NULL
      AND toStringOrNull(r.id) =~ $uuid AND coalesce(r.ten = a.ten AND r.ten = b.ten, false) THEN 'relation'
    ELSE 'foreign'
  END
  WHEN (a:OWN) AND (b:OWN) THEN CASE
    WHEN type(r) = 'HAS_STEP' AND a:PlanGraph AND b:PlanStep THEN null
    WHEN type(r) = 'USES_TOOL' AND (a:PlanStep OR a:Episodic) AND b:Tool THEN null
    WHEN type(r) = 'IS_TOOL' AND a:Entity AND b:Tool AND coalesce(a.ten = b.ten AND a.tool = b.name, false) THEN null
    WHEN type(r) IN ['PRECEDES', 'FEEDS'] AND a:PlanStep AND b:PlanStep THEN null
    ELSE 'foreign'
  END
  WHEN type(r) IN ['HAS_STEP', 'USES_TOOL', 'IS_TOOL', 'PRECEDES', 'FEEDS'] AND size(keys(r)) = 0
    AND (coalesce(a.ten = b.ten, false) OR size(labels(a)) = 0 OR size(labels(b)) = 0) THEN 'remnant'
END AS class
RESULT
