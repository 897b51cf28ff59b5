-- audit_entries --
-- Return a page of one tenant's entries in key order, each with its note if that still exists.
SELECT a.id, a.seq, a.action, a.actor, a.at, a.salience, a.note_hash, a.hash, n.salt, n.rationale, n.sealed
FROM audit a LEFT JOIN audit_note n ON n.tenant = a.tenant AND n.id = a.id AND n.seq = a.seq
WHERE a.tenant = :tenant AND (a.id, a.seq) > (CAST(:id AS uuid), CAST(:seq AS integer))
  AND (CAST(:record AS uuid) IS NULL OR a.id = CAST(:record AS uuid))
ORDER BY a.id, a.seq LIMIT :page

-- audit_heads --
-- Return a page of one tenant's chain heads in key order.
SELECT id, seq, hash FROM audit_head
WHERE tenant = :tenant AND (CAST(:after AS uuid) IS NULL OR id > CAST(:after AS uuid))
  AND (CAST(:record AS uuid) IS NULL OR id = CAST(:record AS uuid))
ORDER BY id LIMIT :page

-- estimate_entries --
-- Return the planner's estimate of the number of entries, which costs the same for any number.
EXPLAIN (FORMAT JSON) SELECT FROM audit
WHERE (CAST(:tenant AS bigint) IS NULL OR tenant = CAST(:tenant AS bigint))
  AND (CAST(:record AS uuid) IS NULL OR id = CAST(:record AS uuid))

-- fetch_causes --
-- Fetch the first entry of an instant, of the last 64 of a record; without an instant, that of the record's deletion.
-- Prepared: keys only, found by indexes.
SELECT asked.place, a.id, a.seq, a.action, a.actor, n.rationale, n.sealed
FROM unnest((SELECT CAST(:ids AS uuid[])), (SELECT CAST(:instants AS timestamptz[]))) WITH ORDINALITY AS asked(id, at, place)
CROSS JOIN LATERAL (
  SELECT * FROM (
    SELECT a.* FROM audit a WHERE a.tenant = :tenant AND a.id = asked.id ORDER BY a.seq DESC LIMIT 64
  ) late
  WHERE CASE WHEN asked.at IS NULL THEN late.action = 'delete' ELSE late.at = asked.at END
  ORDER BY late.seq LIMIT 1
) a
LEFT JOIN audit_note n ON n.tenant = :tenant AND n.id = a.id AND n.seq = a.seq
  AND coalesce(n.sensitivity, 0) <= :ceiling

-- lock_audit_heads --
-- Lock the ends of some chains in id order, and tell whether their records are sealed (null: deleted).
-- Prepared: keys only, found by indexes.
SELECT h.id, h.seq, h.hash,
  (SELECT r.sealed IS NOT NULL FROM record r WHERE r.tenant = h.tenant AND r.id = h.id) AS is_sealed
FROM audit_head h
WHERE h.tenant = :tenant AND h.id = ANY(CAST(:ids AS uuid[]))
ORDER BY h.id FOR UPDATE OF h

-- next_audited_tenant --
-- Return the next tenant that has entries, heads or records; the tenant itself may have been erased.
SELECT least(
  (SELECT min(tenant) FROM audit WHERE tenant > :after),
  (SELECT min(tenant) FROM audit_head WHERE tenant > :after),
  (SELECT min(tenant) FROM record WHERE tenant > :after)
) AS tenant

-- unaudited_records --
-- Return a page of one tenant's records that have neither entries nor a head.
SELECT r.id FROM record r
WHERE r.tenant = :tenant AND (CAST(:after AS uuid) IS NULL OR r.id > CAST(:after AS uuid))
  AND (CAST(:record AS uuid) IS NULL OR r.id = CAST(:record AS uuid))
  AND NOT EXISTS (SELECT FROM audit a WHERE a.tenant = r.tenant AND a.id = r.id)
  AND NOT EXISTS (SELECT FROM audit_head h WHERE h.tenant = r.tenant AND h.id = r.id)
ORDER BY r.id LIMIT :page
