-- The relations there were at each of some records, each at an instant of its own, heaviest first, at most :limit each;
-- both ends in full sight then and now. Live ones are met in their index; few have ended, and those are read once.
WITH asked AS MATERIALIZED (
  SELECT id, at FROM unnest(CAST(:ids AS uuid[]), CAST(:instants AS timestamptz[])) AS asked(id, at)
), ended AS MATERIALIZED (
  SELECT * FROM relation_in_sight
  WHERE tenant = :tenant AND source = ANY(CAST(:ids AS uuid[])) AND ended_at > (SELECT min(at) FROM asked)
  UNION
  SELECT * FROM relation_in_sight
  WHERE tenant = :tenant AND target = ANY(CAST(:ids AS uuid[])) AND ended_at > (SELECT min(at) FROM asked)
)
SELECT asked.id AS asked, asked.at AS instant, e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM asked
CROSS JOIN LATERAL (
  SELECT e.* FROM (
    SELECT *, target AS far FROM relation_in_sight WHERE tenant = :tenant AND source = asked.id AND ended_at IS NULL
    UNION ALL
    SELECT *, source AS far FROM relation_in_sight
    WHERE tenant = :tenant AND target = asked.id AND source <> asked.id AND ended_at IS NULL
    UNION ALL
    SELECT *, CASE WHEN source = asked.id THEN target ELSE source END AS far FROM ended
    WHERE asked.id IN (source, target) AND ended_at > asked.at
  ) e
  WHERE e.created_at <= asked.at AND 2 = (
    SELECT count(*) FROM record r
    WHERE r.tenant = :tenant AND r.id IN (asked.id, e.far) AND r.created_at <= asked.at
      AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
      AND (r.updated_at <= asked.at OR EXISTS (
        SELECT FROM record_history h
        WHERE h.tenant = r.tenant AND h.id = r.id AND h.from_at <= asked.at AND h.to_at > asked.at
          AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling)))
  ORDER BY e.weight DESC, e.id LIMIT :limit
) e
ORDER BY asked.id, asked.at, e.weight DESC, e.id
