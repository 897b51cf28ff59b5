-- delete_audit_notes --
-- Delete the rationales of the given records; the audit chain covers only their hashes and still verifies.
DELETE FROM audit_note WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- delete_captures --
-- Delete the captures that resulted in the given records, and the given failed captures.
-- The foreign key deletes the idempotency keys that refer to them.
DELETE FROM candidate
WHERE tenant = :tenant AND (record = ANY(CAST(:ids AS uuid[])) OR id = ANY(CAST(:failed AS uuid[])))

-- delete_dead_letters_of --
-- Delete the changes of the given records that the mirror refused, with the mirror's error messages.
DELETE FROM sync_dead_letter WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- remove_from_logged_answers --
-- Remove the given records from the log of answers and from the reports on them, which name no others.
UPDATE retrieval SET
  composed_id = CASE WHEN composed_parts && CAST(:ids AS uuid[]) THEN NULL ELSE composed_id END,
  composed = CASE WHEN composed_parts && CAST(:ids AS uuid[]) THEN NULL ELSE composed END,
  composed_parts = CASE WHEN composed_parts && CAST(:ids AS uuid[]) THEN NULL ELSE composed_parts END,
  roots = ARRAY(SELECT id FROM unnest(roots) WITH ORDINALITY AS x(id, position)
    WHERE id <> ALL(CAST(:ids AS uuid[])) ORDER BY position),
  nodes = ARRAY(SELECT id FROM unnest(nodes) WITH ORDINALITY AS x(id, position)
    WHERE id <> ALL(CAST(:ids AS uuid[])) ORDER BY position),
  credited = CASE WHEN outcome IS NOT NULL THEN ARRAY(SELECT id FROM unnest(credited) WITH ORDINALITY AS x(id, position)
    WHERE id <> ALL(CAST(:ids AS uuid[])) ORDER BY position) END,
  penalized = CASE WHEN outcome IS NOT NULL THEN ARRAY(SELECT id FROM unnest(penalized) WITH ORDINALITY AS x(id, position)
    WHERE id <> ALL(CAST(:ids AS uuid[])) ORDER BY position) END
WHERE tenant = :tenant AND (roots && CAST(:ids AS uuid[]) OR nodes && CAST(:ids AS uuid[]))
