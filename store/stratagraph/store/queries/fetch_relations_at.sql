-- Relations by id that existed at an instant, both ends in full sight then and now.
SELECT e.id, e.source, e.target, e.predicate, e.weight, e.created_at
FROM relation_in_sight e
WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[])) AND e.created_at <= :at
  AND (e.ended_at IS NULL OR e.ended_at > :at)
  AND 2 = (
    SELECT count(*) FROM record r
    WHERE r.tenant = e.tenant AND r.id IN (e.source, e.target) AND r.created_at <= :at
      AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
      AND (r.updated_at <= :at OR EXISTS (
        SELECT FROM record_history h
        WHERE h.tenant = r.tenant AND h.id = r.id AND h.from_at <= :at AND h.to_at > :at
          AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[]))) AND h.sensitivity <= :ceiling)))
