// The types that the mirror has used for relations: those it has made a constraint for.
SHOW CONSTRAINTS YIELD entityType, labelsOrTypes, properties
WHERE entityType = 'RELATIONSHIP' AND properties = ['ten', 'id']
RETURN collect(labelsOrTypes[0]) AS types
