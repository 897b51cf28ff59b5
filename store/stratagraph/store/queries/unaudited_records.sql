-- A page of one tenant's records of whose making the audit says nothing.
SELECT r.id FROM record r
WHERE r.tenant = :tenant AND (CAST(:after AS uuid) IS NULL OR r.id > CAST(:after AS uuid))
  AND (CAST(:record AS uuid) IS NULL OR r.id = CAST(:record AS uuid))
  AND NOT EXISTS (SELECT FROM audit a WHERE a.tenant = r.tenant AND a.id = r.id)
  AND NOT EXISTS (SELECT FROM audit_head h WHERE h.tenant = r.tenant AND h.id = r.id)
ORDER BY r.id LIMIT :page
