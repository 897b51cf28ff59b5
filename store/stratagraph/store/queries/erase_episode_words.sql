-- A closed episode was found by its members' words: what it was is found by the words of those that are left.
UPDATE record_history h SET terms = r.terms, impacts = r.impacts
FROM record r
WHERE r.tenant = h.tenant AND r.id = h.id AND h.tenant = :tenant AND h.id = ANY(CAST(:ids AS uuid[])) AND h.terms <> '{}'
RETURNING h.id, h.row_version
