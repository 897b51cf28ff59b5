// List the constraints and indexes.
SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties, state, owningConstraint
WHERE type <> 'LOOKUP'
RETURN collect([name, owningConstraint IS NOT NULL, entityType, labelsOrTypes, properties, state]) AS found
