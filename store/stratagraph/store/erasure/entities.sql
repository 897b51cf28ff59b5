-- fetch_linked_records --
-- Fetch the records linked to the given entities.
-- Other entities that the given ones point to are left out: they are named by them, not about them. So are relations
-- that a merge or its reversal ended and replaced: the record is linked to the other entity instead.
SELECT e.source AS id FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.source
WHERE e.tenant = :tenant AND e.target = ANY(CAST(:ids AS uuid[]))
  AND (e.ended_at IS NULL OR r.type <> 3 AND NOT EXISTS (
    SELECT FROM relation n WHERE n.tenant = e.tenant AND n.source = e.source AND n.predicate = e.predicate
      AND n.created_at = e.ended_at))
UNION
SELECT e.target FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.type <> 3
WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))
  AND (e.ended_at IS NULL OR NOT EXISTS (
    SELECT FROM relation n WHERE n.tenant = e.tenant AND n.target = e.target AND n.predicate = e.predicate
      AND n.created_at = e.ended_at))

-- fetch_merged_entities --
-- Fetch an entity, and the entities that were merged into it or that it was merged into.
WITH RECURSIVE same(id) AS (
  SELECT id FROM record WHERE tenant = :tenant AND id = :id AND type = 3
  UNION
  SELECT r.id
  FROM same s
  JOIN relation e ON e.tenant = :tenant AND (e.source = s.id OR e.target = s.id) AND e.ended_at IS NULL
  JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'supersedes'
  JOIN record r ON r.tenant = e.tenant AND r.id = CASE WHEN e.source = s.id THEN e.target ELSE e.source END AND r.type = 3
)
SELECT id FROM same
