-- Which of some records stand in a dispute with another that is part of the current truth.
SELECT DISTINCT near.id
FROM unnest(CAST(:ids AS uuid[])) AS near(id)
JOIN relation e ON e.tenant = :tenant AND (e.source = near.id OR e.target = near.id) AND e.ended_at IS NULL
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'contested_by'
JOIN record r ON r.tenant = e.tenant AND r.id = CASE WHEN e.source = near.id THEN e.target ELSE e.source END
  AND r.state <= 2
