-- Current records derived from some records, directly or through others, each with what it was derived from on the way.
WITH RECURSIVE kinds AS MATERIALIZED (
  SELECT id FROM predicate WHERE tenant = :tenant AND name IN ('derived_semantic', 'supports')
), down(id, source) AS (
  SELECT e.target, e.source
  FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.state <= 2
  WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
    AND e.predicate IN (SELECT id FROM kinds)
  UNION
  SELECT e.target, e.source
  FROM down d
  JOIN relation e ON e.tenant = :tenant AND e.source = d.id AND e.ended_at IS NULL
    AND e.predicate IN (SELECT id FROM kinds)
  JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.state <= 2
)
SELECT id, array_agg(source) AS sources FROM (SELECT id, source FROM down LIMIT :limit) reached GROUP BY id
