-- What was ever derived from some records, whatever its state now, with all it was derived from.
WITH kinds AS MATERIALIZED (
  SELECT id FROM predicate WHERE tenant = :tenant AND name IN ('derived_semantic', 'supports')
)
SELECT r.id, r.provenance, r.sealed, ARRAY(
  SELECT e.source FROM relation e
  WHERE e.tenant = r.tenant AND e.target = r.id AND e.predicate IN (SELECT id FROM kinds)) AS sources
FROM record r
WHERE r.tenant = :tenant AND r.id <> ALL(CAST(:known AS uuid[])) AND r.id IN (
  SELECT e.target FROM relation e
  WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.predicate IN (SELECT id FROM kinds))
