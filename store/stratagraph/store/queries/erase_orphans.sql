-- Entities that captures of records that go have made (`made`) or named, and that nothing else names. One that was
-- captured in its own right is not among them. Scalar subqueries, so that each is a look-up whatever the statistics say.
WITH named AS MATERIALIZED (
  SELECT id, bool_or(made) AS made
  FROM (
    SELECT e.target AS id, false AS made FROM relation e WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))
    UNION ALL
    SELECT unnest(c.created_records), true FROM candidate c
    WHERE c.tenant = :tenant AND c.record = ANY(CAST(:ids AS uuid[]))
  ) n
  WHERE id <> ALL(CAST(:ids AS uuid[]))
  GROUP BY id
)
SELECT n.id, n.made, r.provenance, r.sealed
FROM named n
CROSS JOIN LATERAL (
  SELECT provenance, sealed FROM record WHERE tenant = :tenant AND id = n.id AND type = 3 LIMIT 1
) r
WHERE (SELECT true FROM relation e
    WHERE e.tenant = :tenant AND e.source = n.id AND e.target <> ALL(CAST(:ids AS uuid[])) LIMIT 1) IS NULL
  AND (SELECT true FROM relation e
    WHERE e.tenant = :tenant AND e.target = n.id AND e.source <> ALL(CAST(:ids AS uuid[])) LIMIT 1) IS NULL
  AND (SELECT true FROM candidate c WHERE c.tenant = :tenant AND c.record = n.id LIMIT 1) IS NULL
