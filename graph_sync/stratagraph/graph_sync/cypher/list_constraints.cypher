// List the constraints.
SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties
RETURN collect([name, type ENDS WITH 'UNIQUENESS', entityType, labelsOrTypes, properties]) AS found
