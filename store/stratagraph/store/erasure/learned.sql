-- copy_procedure_terms_to_history --
-- Replace the search terms of earlier contents of skills and plans by their current ones.
UPDATE record_history h SET terms = r.terms, impacts = r.impacts
FROM record r
WHERE r.tenant = h.tenant AND r.id = h.id AND h.tenant = :tenant AND h.id = ANY(CAST(:ids AS uuid[]))

-- fetch_derivations_between --
-- Fetch the open relations by which some records were learned from others.
SELECT e.id FROM relation e
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'derived_semantic'
WHERE e.tenant = :tenant AND e.source = ANY(CAST(:sources AS uuid[])) AND e.target = ANY(CAST(:targets AS uuid[]))
  AND e.ended_at IS NULL

-- fetch_learned_from_removed --
-- Fetch removed records and the episodes that they belonged to, each with what was learned from it.
WITH given AS MATERIALIZED (
  SELECT a.id, coalesce(t.learned, '{}') AS learned
  FROM unnest(CAST(:ids AS uuid[])) AS a(id) LEFT JOIN tombstone t ON t.tenant = :tenant AND t.id = a.id
), near AS MATERIALIZED (
  SELECT g.id FROM given g
  UNION
  SELECT n.id FROM given g CROSS JOIN LATERAL unnest(g.learned) AS n(id)
  WHERE EXISTS (SELECT FROM episode e WHERE e.tenant = :tenant AND e.id = n.id)
    OR EXISTS (SELECT FROM tombstone t WHERE t.tenant = :tenant AND t.id = n.id AND t.type = 1)
)
SELECT n.id, ARRAY(
  SELECT unnest(t.learned) AS id FROM tombstone t WHERE t.tenant = :tenant AND t.id = n.id
  UNION
  SELECT e.target FROM relation e
  JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'derived_semantic'
  WHERE e.tenant = :tenant AND e.source = n.id) AS learned
FROM near n

-- fetch_learned_procedures --
-- Fetch all versions of the skills and plans that were learned from the given episodes, or are among :known.
WITH found AS MATERIALIZED (
  SELECT e.target AS id FROM relation e
  JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'derived_semantic'
  WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))
  UNION
  SELECT unnest(CAST(:known AS uuid[]))
)
SELECT DISTINCT v.id FROM found f
JOIN record r ON r.tenant = :tenant AND r.id = f.id AND r.type IN (5, 6)
JOIN record v ON v.tenant = r.tenant AND v.handle_key = r.handle_key AND v.type = r.type AND v.scope = r.scope
  AND v.sensitivity = r.sensitivity
