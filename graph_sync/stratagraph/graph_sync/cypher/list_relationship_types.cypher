// List the types that relations have or had in the mirror: those with a constraint of its own, and with a name as the
// worker writes it.
SHOW CONSTRAINTS YIELD entityType, labelsOrTypes, properties
WHERE entityType = 'RELATIONSHIP' AND properties = ['ten', 'id'] AND labelsOrTypes[0] =~ '[A-Z][A-Z0-9_]*'
RETURN collect(DISTINCT labelsOrTypes[0]) AS types
