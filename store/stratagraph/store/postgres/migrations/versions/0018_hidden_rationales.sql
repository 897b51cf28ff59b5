-- A rationale may be about more sensitive records than the one on whose audit entry it stands

ALTER TABLE audit_note ADD COLUMN sensitivity SMALLINT;

ALTER TABLE audit_note ADD CONSTRAINT audit_note_sensitivity_ck CHECK (sensitivity BETWEEN 0 AND 4);

COMMENT ON COLUMN audit_note.sensitivity IS 'of the most sensitive record that the rationale is about; null: of its own record';

COMMENT ON COLUMN audit_note.sealed IS 'a rationale about a record whose content is sealed';

-- Rationales of before: one act has one actor and one instant. A record that is deleted by now counts as the others do.

UPDATE audit_note n SET sensitivity = act.most
FROM audit a
JOIN (
  SELECT b.tenant, b.actor, b.at, max(r.sensitivity) AS most
  FROM audit b JOIN record r ON r.tenant = b.tenant AND r.id = b.id
  GROUP BY b.tenant, b.actor, b.at HAVING min(r.sensitivity) < max(r.sensitivity)
) act ON act.tenant = a.tenant AND act.actor = a.actor AND act.at = a.at
WHERE n.tenant = a.tenant AND n.id = a.id AND n.seq = a.seq AND a.action <> 'create';

DROP POLICY read ON audit_note;

CREATE POLICY read ON audit_note TO {read} USING (
  coalesce(sensitivity, 0) <= (SELECT caller_ceiling())
  AND (SELECT true FROM record r WHERE r.tenant = audit_note.tenant AND r.id = audit_note.id));

-- The log of retrievals: each actor's own entries

CREATE FUNCTION caller_actor() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('stratagraph.actor', true), '');

REVOKE ALL ON FUNCTION caller_actor() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION caller_actor() TO {read}, {write}, {jobs}, {erase};

DROP POLICY caller ON retrieval;

CREATE POLICY caller ON retrieval TO {read}, {write} USING (tenant = caller_tenant() AND actor = caller_actor());
