-- A page of one tenant's entries in key order, each with its note where that still exists.
SELECT a.id, a.seq, a.action, a.actor, a.at, a.salience, a.note_hash, a.hash, n.salt, n.rationale, n.sealed
FROM audit a LEFT JOIN audit_note n ON n.tenant = a.tenant AND n.id = a.id AND n.seq = a.seq
WHERE a.tenant = :tenant AND (a.id, a.seq) > (CAST(:id AS uuid), CAST(:seq AS integer))
  AND (CAST(:record AS uuid) IS NULL OR a.id = CAST(:record AS uuid))
ORDER BY a.id, a.seq LIMIT :page
