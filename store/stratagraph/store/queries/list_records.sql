-- A page of records, newest first. The keyset walks record_listed_ix; filters beyond it cost what they skip.
SELECT r.id, r.type, r.scope, r.sensitivity, r.state, r.confidence, r.tags, r.created_at, r.occurred_at, r.updated_at,
  r.version, s.s, s.t0, s.curve, s.half_life_s, s.min_salience, s.max_age_s, s.reinforcement_gain, s.params, s.pinned,
  s.deletion_policy, s.last_reinforced_at,
  CASE WHEN r.sensitivity <= :ceiling THEN r.name END AS name,
  CASE WHEN r.sensitivity <= :ceiling THEN r.text END AS text,
  CASE WHEN r.sensitivity <= :ceiling THEN r.payload END AS payload,
  CASE WHEN r.sensitivity <= :ceiling THEN r.provenance END AS provenance,
  CASE WHEN r.sensitivity <= :ceiling THEN r.interpretation END AS interpretation
FROM record r JOIN salience s ON s.tenant = r.tenant AND s.id = r.id
WHERE r.tenant = :tenant AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling + 1
  AND (CAST(:before AS uuid) IS NULL OR r.id < CAST(:before AS uuid))
  AND r.type = ANY(CAST(:types AS smallint[]))
  AND (CAST(:scope AS text) IS NULL
       OR r.scope = (SELECT id FROM scope WHERE scope.tenant = :tenant AND scope.name = CAST(:scope AS text)))
  AND (CAST(:tag AS text) IS NULL OR CAST(:tag AS text) = ANY(r.tags))
ORDER BY r.id DESC LIMIT :first
