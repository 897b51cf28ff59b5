// List the types that relations have or had in the mirror: those with a constraint of its own.
SHOW CONSTRAINTS YIELD entityType, labelsOrTypes, properties
WHERE entityType = 'RELATIONSHIP' AND properties = ['ten', 'id']
RETURN collect(labelsOrTypes[0]) AS types
