// Create the tools that are missing, in the order given, and keep them from being deleted by others until the commit.
// A tool that nothing used yet is linked to the entities that are this tool.
// tool: 0 ten, 1 name
UNWIND $tools AS tool
MERGE (t:Tool {ten: tool[0], name: tool[1]})
WITH t WHERE NOT EXISTS { (t)<-[:USES_TOOL]-() }
MATCH (e:Entity {ten: t.ten, tool: t.name}) USING INDEX SEEK e:Entity(ten, tool)
MERGE (e)-[:IS_TOOL]->(t)
