-- Answers of the past no longer name what went.
UPDATE retrieval SET
  roots = ARRAY(SELECT id FROM unnest(roots) WITH ORDINALITY AS x(id, place)
    WHERE id <> ALL(CAST(:ids AS uuid[])) ORDER BY place),
  nodes = ARRAY(SELECT id FROM unnest(nodes) WITH ORDINALITY AS x(id, place)
    WHERE id <> ALL(CAST(:ids AS uuid[])) ORDER BY place)
WHERE tenant = :tenant AND (roots && CAST(:ids AS uuid[]) OR nodes && CAST(:ids AS uuid[]))
