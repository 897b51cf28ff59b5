-- What a tombstone keeps of records, and what a background job would derive them again by.
SELECT r.tenant, r.id, r.type, r.scope, r.sensitivity,
  CASE r.type
    WHEN 3 THEN (SELECT t.term_key FROM entity_term t
                 WHERE t.tenant = r.tenant AND t.entity = r.id AND t.kind = 2 ORDER BY t.claimed DESC LIMIT 1)
    WHEN 4 THEN r.fact_key
    WHEN 5 THEN r.handle_key
    WHEN 6 THEN r.handle_key
  END AS key
FROM record r
JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS asked(tenant, id)
  ON r.tenant = asked.tenant AND r.id = asked.id
ORDER BY r.tenant, r.id
