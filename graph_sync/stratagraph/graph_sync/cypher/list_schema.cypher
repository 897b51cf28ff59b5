// List the constraints and indexes of the kinds that the mirror has.
SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties, state, owningConstraint
WHERE type IN ['RANGE', 'LOOKUP']
RETURN collect([name, owningConstraint IS NOT NULL, entityType, labelsOrTypes, properties, state]) AS found
