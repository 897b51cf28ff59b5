-- delete_scope_captures --
-- Delete the captures that resulted in records of the scope which have a tombstone.
DELETE FROM candidate c USING tombstone t
WHERE t.tenant = :tenant AND t.scope = :scope AND c.tenant = t.tenant AND c.record = t.id

-- delete_scope_notes --
-- Delete the rationales of records of the scope which have a tombstone.
DELETE FROM audit_note n USING tombstone t
WHERE t.tenant = :tenant AND t.scope = :scope AND n.tenant = t.tenant AND n.id = t.id

-- fetch_next_records --
-- Fetch the first records, by id, of a scope, or of the whole tenant where :scope is NULL.
SELECT id FROM record
WHERE tenant = :tenant AND (CAST(:scope AS integer) IS NULL OR scope = :scope) ORDER BY id LIMIT :limit

-- mark_scope_erased --
-- Mark deleted records of the scope as erased, and forget the entities that removed ones were linked to.
-- A pruned record is not marked, because it stays a valid source of what was derived from it in other scopes.
UPDATE tombstone SET cause = CASE WHEN cause = 2 THEN 3 ELSE cause END, entities = '{}', learned = '{}'
WHERE tenant = :tenant AND scope = :scope AND (cause = 2 OR entities <> '{}' OR learned <> '{}')
