-- What was ever derived from some records, whatever its state now, with all it was derived from.
WITH kinds AS MATERIALIZED (
  SELECT id FROM predicate WHERE tenant = :tenant AND name IN ('derived_semantic', 'supports')
), derived AS MATERIALIZED (
  SELECT DISTINCT e.target AS id FROM relation e
  WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.predicate IN (SELECT id FROM kinds)
    AND e.target <> ALL(CAST(:known AS uuid[]))
)
SELECT d.id, r.provenance, r.sealed, ARRAY(
  SELECT e.source FROM relation e
  WHERE e.tenant = :tenant AND e.target = d.id AND e.predicate IN (SELECT id FROM kinds)) AS sources
FROM derived d
CROSS JOIN LATERAL (SELECT provenance, sealed FROM record WHERE tenant = :tenant AND id = d.id LIMIT 1) r
