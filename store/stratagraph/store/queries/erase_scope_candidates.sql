-- Traces of what a scope's records became that went long ago.
DELETE FROM candidate c USING tombstone t
WHERE t.tenant = :tenant AND t.scope = :scope AND c.tenant = t.tenant AND c.record = t.id
