-- count_facts_about --
-- Count for each of the given entities the current facts that name it and that the caller may read in full.
SELECT named.entity, count(DISTINCT r.id) AS facts
FROM (
  SELECT f.subject_entity AS entity, f.id FROM fact f
  WHERE f.tenant = :tenant AND f.subject_entity = ANY(CAST(:entities AS uuid[]))
  UNION ALL
  SELECT f.object_entity, f.id FROM fact f
  WHERE f.tenant = :tenant AND f.object_entity = ANY(CAST(:entities AS uuid[]))
) named
JOIN record r ON r.tenant = :tenant AND r.id = named.id AND r.state <= 2
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
GROUP BY named.entity

-- fetch_fact_contents --
-- Fetch the provenance and the validity as stated of locked facts.
SELECT id, sealed, provenance, payload, occurred_at FROM record
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- fetch_keyed_facts --
-- Fetch facts with their keys, what the keys were computed from, and their salience, without their content.
SELECT r.id, r.scope, r.sensitivity, r.slot_key, r.fact_key, r.condition_key, r.state, r.single_valued,
  lower(r.validity) AS begins, upper(r.validity) AS ends, r.created_at, r.updated_at, r.row_version,
  f.subject_entity, f.subject_key, f.subject_is_ambiguous, f.predicate_key, f.object_entity, f.value_key, f.stated_key,
  s.s, s.t0, s.last_reinforced_at
FROM record r
JOIN fact f ON f.tenant = r.tenant AND f.id = r.id
JOIN salience s ON s.tenant = r.tenant AND s.id = r.id
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[]))
ORDER BY r.created_at, r.id

-- count_facts_naming --
-- Count, up to :most, the facts that name one of the given entities and that the caller may read in full.
SELECT count(*) AS facts FROM (
  SELECT FROM (
    SELECT id FROM fact WHERE tenant = :tenant AND subject_entity = ANY(CAST(:entities AS uuid[]))
    UNION
    SELECT id FROM fact WHERE tenant = :tenant AND object_entity = ANY(CAST(:entities AS uuid[]))
  ) named
  JOIN record r ON r.tenant = :tenant AND r.id = named.id
    AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
  LIMIT :most
) counted

-- find_facts_naming --
-- Find the facts, current or not, that name one of the given entities as subject or object.
SELECT id FROM fact WHERE tenant = :tenant AND subject_entity = ANY(CAST(:entities AS uuid[]))
UNION
SELECT id FROM fact WHERE tenant = :tenant AND object_entity = ANY(CAST(:entities AS uuid[]))

-- find_rivals --
-- Find the current facts with which facts that get new keys may collide.
-- Those are all facts of a single-valued slot, and the equal ones of another slot.
SELECT r.id
FROM unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]), CAST(:slots AS bytea[]),
  CAST(:singles AS boolean[])) AS asked(scope, sensitivity, slot, single)
JOIN record r ON r.tenant = :tenant AND r.scope = asked.scope AND r.sensitivity = asked.sensitivity
  AND r.slot_key = asked.slot AND r.type = 4 AND r.state <= 2
WHERE asked.single OR r.fact_key = ANY(CAST(:facts AS bytea[]))
ORDER BY r.id LIMIT :most

-- find_fact_naming --
-- Find whether a current fact that the caller may read in full names a locked entity as its subject or object.
SELECT EXISTS (
  SELECT FROM fact f JOIN record r ON r.tenant = f.tenant AND r.id = f.id AND r.state <= 2
    AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
  WHERE f.tenant = :tenant AND f.subject_entity = :entity
) OR EXISTS (
  SELECT FROM fact f JOIN record r ON r.tenant = f.tenant AND r.id = f.id AND r.state <= 2
    AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
  WHERE f.tenant = :tenant AND f.object_entity = :entity
) AS named

-- lock_given_slots --
-- Lock slots in the order in which all writers lock them.
SELECT s.scope, s.sensitivity, s.slot_key, s.single_valued
FROM unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]), CAST(:slots AS bytea[]))
  AS asked(scope, sensitivity, slot)
JOIN fact_slot s ON s.tenant = :tenant AND s.scope = asked.scope AND s.sensitivity = asked.sensitivity
  AND s.slot_key = asked.slot
ORDER BY s.scope, s.sensitivity, s.slot_key FOR UPDATE OF s

-- set_evidence_times --
-- Set the times of the latest evidence of facts.
UPDATE fact f SET evidence_at = asked.at
FROM unnest(CAST(:ids AS uuid[]), CAST(:times AS timestamptz[])) AS asked(id, at)
WHERE f.tenant = :tenant AND f.id = asked.id

-- unite_evidence_times --
-- Give a fact the time of the latest evidence of the given facts, or the given time if that is later.
UPDATE fact SET evidence_at = (
  SELECT greatest(CAST(:at AS timestamptz), max(f.evidence_at)) FROM fact f
  WHERE f.tenant = :tenant AND f.id = ANY(CAST(:ids AS uuid[]))
)
WHERE tenant = :tenant AND id = :id

-- set_single_valued --
-- Set whether slots are single-valued; their facts follow through the foreign key.
UPDATE fact_slot s SET single_valued = :single_valued
FROM unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]), CAST(:slots AS bytea[]))
  AS asked(scope, sensitivity, slot)
WHERE s.tenant = :tenant AND s.scope = asked.scope AND s.sensitivity = asked.sensitivity AND s.slot_key = asked.slot

-- write_fact_keys --
-- Give locked facts other entities, and the keys computed from them. Neither their versions nor their history change.
WITH asked AS (
  SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:slots AS bytea[]), CAST(:facts AS bytea[]),
    CAST(:singles AS boolean[]), CAST(:subject_entities AS uuid[]), CAST(:subject_keys AS bytea[]),
    CAST(:ambiguous AS boolean[]), CAST(:object_entities AS uuid[]), CAST(:value_keys AS bytea[]))
    AS asked(id, slot, fact, single, subject_entity, subject_key, is_ambiguous, object_entity, value_key)
), identities AS (
  UPDATE fact f SET subject_entity = a.subject_entity, subject_key = a.subject_key,
    subject_is_ambiguous = a.is_ambiguous, object_entity = a.object_entity, value_key = a.value_key
  FROM asked a WHERE f.tenant = :tenant AND f.id = a.id
)
UPDATE record r SET slot_key = a.slot, fact_key = a.fact, single_valued = a.single
FROM asked a WHERE r.tenant = :tenant AND r.id = a.id
