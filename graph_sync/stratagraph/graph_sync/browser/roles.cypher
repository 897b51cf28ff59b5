// Roles for reading and writing the mirror, for Neo4j Enterprise; Community has no roles.
// Run them in the database `system` as an administrator; they can be repeated. `neo4j` is the mirror's database.
// Postgres alone enforces access: what must not be seen in the Browser must not be mirrored
// (STRATAGRAPH_MIRROR_NAMES_UP_TO).

// The worker, whose user is STRATAGRAPH_NEO4J_USER: it writes, and creates constraints, labels and types.
CREATE ROLE stratagraph_worker IF NOT EXISTS;
GRANT ACCESS ON DATABASE neo4j TO stratagraph_worker;
GRANT MATCH {*} ON GRAPH neo4j ELEMENTS * TO stratagraph_worker;
GRANT WRITE ON GRAPH neo4j TO stratagraph_worker;
GRANT NAME MANAGEMENT ON DATABASE neo4j TO stratagraph_worker;
GRANT CONSTRAINT MANAGEMENT ON DATABASE neo4j TO stratagraph_worker;
GRANT INDEX MANAGEMENT ON DATABASE neo4j TO stratagraph_worker;

// People who read everything and change nothing. The worker's own nodes (stubs, tombstones, checkpoints) are hidden.
CREATE ROLE stratagraph_explorer IF NOT EXISTS;
GRANT ACCESS ON DATABASE neo4j TO stratagraph_explorer;
GRANT MATCH {*} ON GRAPH neo4j NODES Memory, Past, PlanStep, Tool, MirrorInfo TO stratagraph_explorer;
GRANT MATCH {*} ON GRAPH neo4j RELATIONSHIPS * TO stratagraph_explorer;

// People of one tenant, by its number, which "02 Which tenants are here?" lists. One role per tenant.
CREATE ROLE stratagraph_tenant_1 IF NOT EXISTS;
GRANT ACCESS ON DATABASE neo4j TO stratagraph_tenant_1;
GRANT MATCH {*} ON GRAPH neo4j FOR (n:Memory|Past|PlanStep|Tool) WHERE n.ten = 1 TO stratagraph_tenant_1;
// Not the numbers of MirrorInfo, which count the changes of all tenants.
GRANT MATCH {k, name, state, as_of, checked_at, note} ON GRAPH neo4j NODES MirrorInfo TO stratagraph_tenant_1;
GRANT MATCH {*} ON GRAPH neo4j RELATIONSHIPS * TO stratagraph_tenant_1;

// People of one scope up to a sensitivity: acl is the scope's number times 8 plus the sensitivity (public 0, low 1,
// medium 2). The property `acl` of a record shows it; here scope 4, public and low.
CREATE ROLE stratagraph_scope_4 IF NOT EXISTS;
GRANT ACCESS ON DATABASE neo4j TO stratagraph_scope_4;
GRANT MATCH {*} ON GRAPH neo4j FOR (n:Memory|Past|PlanStep) WHERE n.acl IN [32, 33] TO stratagraph_scope_4;
GRANT MATCH {*} ON GRAPH neo4j RELATIONSHIPS * TO stratagraph_scope_4;
