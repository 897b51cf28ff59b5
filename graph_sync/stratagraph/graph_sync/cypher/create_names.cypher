// Create the labels, relationship types and properties that nothing has yet. Without them, people's queries warn.
UNWIND $labels AS label
CALL db.createLabel(label)
WITH count(*) AS labels
UNWIND $types AS type
CALL db.createRelationshipType(type)
WITH count(*) AS types
UNWIND $properties AS property
CALL db.createProperty(property)
RETURN count(*) AS properties
