// 00 Set the parameters: run this first
// Chooses values for the parameters of the other queries. To change one later: :param name => 'Alice'
:param ten => head(COLLECT { MATCH (t:Memory) RETURN t.ten LIMIT 1 });
:param name => head(COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:Entity&Memory) WHERE n.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  RETURN n.name
  ORDER BY EXISTS { (n)<-[:MENTIONS_ENTITY|SUBJECT_ENTITY|OBJECT_ENTITY]-(:Memory)-[:MENTIONS_ENTITY|SUBJECT_ENTITY|OBJECT_ENTITY]->(o:Memory) WHERE o.name <> n.name } DESC,
    COUNT { (n)<-[:MENTIONS_ENTITY|SUBJECT_ENTITY|OBJECT_ENTITY]-() } DESC, n.id
  LIMIT 1
});
:param other => head(COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:Entity&Memory) WHERE n.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  WITH n
  ORDER BY EXISTS { (n)<-[:MENTIONS_ENTITY|SUBJECT_ENTITY|OBJECT_ENTITY]-(:Memory)-[:MENTIONS_ENTITY|SUBJECT_ENTITY|OBJECT_ENTITY]->(o:Memory) WHERE o.name <> n.name } DESC,
    COUNT { (n)<-[:MENTIONS_ENTITY|SUBJECT_ENTITY|OBJECT_ENTITY]-() } DESC, n.id
  LIMIT 1
  MATCH (n)<-[:MENTIONS_ENTITY|SUBJECT_ENTITY|OBJECT_ENTITY]-(:Memory)-[:MENTIONS_ENTITY|SUBJECT_ENTITY|OBJECT_ENTITY]->(o:Entity&Memory) WHERE o.name <> n.name
  WITH o LIMIT 20000
  WITH o, count(*) AS shared ORDER BY shared DESC, o.id LIMIT 1
  RETURN o.name
} + COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:Entity&Memory) WHERE n.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  RETURN n.name ORDER BY COUNT { (n)<-[:MENTIONS_ENTITY|SUBJECT_ENTITY|OBJECT_ENTITY]-() } DESC, n.id SKIP 1 LIMIT 1
});
:param episode => head(COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:Memory)<-[r:PART_OF]-() WHERE r.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  RETURN n.name ORDER BY COUNT { (n)<-[:PART_OF]-() } DESC LIMIT 1
});
:param fact => head(COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:Memory)<-[r:DERIVED_SEMANTIC]-() WHERE r.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  RETURN n.name ORDER BY COUNT { (n)<-[:DERIVED_SEMANTIC]-() } DESC LIMIT 1
} + COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:ToolCall&Memory)-[r:DEPENDS_ON]->() WHERE r.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  RETURN n.name ORDER BY COUNT { (n)-[:DEPENDS_ON]->() } DESC LIMIT 1
} + COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:Commit&Memory)-[r:FOLLOWS]->() WHERE r.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  RETURN n.name ORDER BY COUNT { (n)-[:FOLLOWS]->() } DESC, n.id DESC LIMIT 1
});
:param source => head(COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:Memory)-[r:DERIVED_SEMANTIC]->() WHERE r.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  RETURN n.name ORDER BY COUNT { (n)-[:DERIVED_SEMANTIC]->() } DESC LIMIT 1
} + COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:ToolCall&Memory)<-[r:DEPENDS_ON]-() WHERE r.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  RETURN n.name ORDER BY COUNT { (n)<-[:DEPENDS_ON]-() } DESC LIMIT 1
} + COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:Commit&Memory)<-[r:FOLLOWS]-() WHERE r.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  RETURN n.name ORDER BY COUNT { (n)<-[:FOLLOWS]-() } DESC, n.id DESC LIMIT 1
});
:param plan => head(COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:PlanGraph&Memory) WHERE n.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  RETURN n.name ORDER BY COUNT { (n)-[:HAS_STEP]->() } DESC LIMIT 1
} + COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:Episode&Memory) WHERE n.ten = ten AND n.name IS NOT NULL WITH n LIMIT 20000
  RETURN n.name ORDER BY COUNT { (n)<-[:PART_OF]-(:ToolCall) } DESC LIMIT 1
});
:param tool => head(COLLECT {
  MATCH (t:Memory) WITH t.ten AS ten LIMIT 1
  MATCH (n:Tool) WHERE n.ten = ten WITH n LIMIT 20000
  RETURN n.name
  ORDER BY EXISTS { (n)<-[:USES_TOOL]-(:PlanStep) } DESC, EXISTS { (n)<-[:USES_TOOL]-(:Episodic) } DESC,
    COUNT { (n)<-[:USES_TOOL]-() } DESC
  LIMIT 1
});
