// Create the labels and relationship types that no node or relationship has yet. Without them, people's queries warn.
UNWIND $labels AS label
CALL db.createLabel(label)
WITH count(*) AS labels
UNWIND $types AS type
CALL db.createRelationshipType(type)
RETURN count(*) AS types
