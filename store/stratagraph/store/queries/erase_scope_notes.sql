-- Rationales of records of a scope that went long ago.
DELETE FROM audit_note n USING tombstone t
WHERE t.tenant = :tenant AND t.scope = :scope AND n.tenant = t.tenant AND n.id = t.id
