-- An entity, and the entities that were merged into it or that it was merged into.
WITH RECURSIVE same(id) AS (
  SELECT id FROM record WHERE tenant = :tenant AND id = :id AND type = 3
  UNION
  SELECT r.id
  FROM same s
  JOIN relation e ON e.tenant = :tenant AND (e.source = s.id OR e.target = s.id)
  JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'supersedes'
  JOIN record r ON r.tenant = e.tenant AND r.id = CASE WHEN e.source = s.id THEN e.target ELSE e.source END AND r.type = 3
)
SELECT id FROM same
