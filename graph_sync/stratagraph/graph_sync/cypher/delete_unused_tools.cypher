// Delete those of the given tools that neither a record nor a step uses, in the order given. Other workers write at the
// same time, so each is locked, by a write that changes nothing, before it is checked.
// tool: 0 ten, 1 name
UNWIND $tools AS tool
MATCH (t:Tool {ten: tool[0], name: tool[1]}) USING INDEX SEEK t:Tool(ten, name)
SET t.ten = tool[0]
WITH t WHERE NOT EXISTS { (t)<-[:USES_TOOL]-() }
DETACH DELETE t
