-- The slot of a fact, locked before anything about it is decided.
SELECT s.scope, s.sensitivity, s.slot_key, s.single_valued
FROM record r JOIN fact_slot s ON s.tenant = r.tenant AND s.scope = r.scope AND s.sensitivity = r.sensitivity
  AND s.slot_key = r.slot_key
WHERE r.tenant = :tenant AND r.id = :id
FOR UPDATE OF s
