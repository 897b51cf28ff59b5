-- A page of one tenant's chain heads in key order.
SELECT id, seq, hash FROM audit_head
WHERE tenant = :tenant AND (CAST(:after AS uuid) IS NULL OR id > CAST(:after AS uuid))
  AND (CAST(:record AS uuid) IS NULL OR id = CAST(:record AS uuid))
ORDER BY id LIMIT :page
