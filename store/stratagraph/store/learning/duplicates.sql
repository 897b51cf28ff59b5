-- advance_duplicate_filling --
-- Move the position up to which existing records were queued; without one, all of them have been.
UPDATE duplicate_progress SET after_tenant = :after_tenant, after_id = :after_id,
  is_filling = CAST(:after_id AS uuid) IS NOT NULL

-- begin_duplicate_filling --
-- Queue all existing records again.
UPDATE duplicate_progress SET is_filling = true, after_tenant = NULL, after_id = NULL, nonce = NULL

-- beyond --
-- Fragment: records after a position; all without one, since no tenant has a number below 0.
(tenant, id) > (coalesce(CAST(:after_tenant AS bigint), -1),
  coalesce(CAST(:after_id AS uuid), '00000000-0000-0000-0000-000000000000'))

-- claim_duplicate_due --
-- Take records of one group out of the queue, by the entity that they are or are about.
DELETE FROM duplicate_due WHERE (tenant, id) IN (
  SELECT tenant, id FROM duplicate_due
  WHERE tenant = :tenant AND scope = :scope AND sensitivity = :sensitivity
  ORDER BY about, id LIMIT :limit FOR UPDATE SKIP LOCKED)
RETURNING id

-- clear_compared_set_aside --
-- Delete the entries of records that a job had set aside, was to try again, and has compared.
DELETE FROM job_set_aside j USING record r
WHERE j.job = :job AND j.next_try_at <= :now AND r.tenant = j.tenant AND r.id = j.id AND r.type IN (3, 4)
  AND NOT EXISTS (SELECT FROM duplicate_due d WHERE d.tenant = j.tenant AND d.id = j.id)

-- count_duplicate_due --
-- Count the queued records, up to :most.
SELECT count(*) AS n FROM (SELECT FROM duplicate_due LIMIT :most) d

-- count_records_beyond --
-- Count the records that are still to be looked at before all existing ones are queued, up to :most.
SELECT count(*) AS n FROM (SELECT FROM record WHERE {beyond} LIMIT :most) r

-- count_keyless_entities --
-- Count the queued entities whose keys are to be noted, up to :most.
SELECT count(*) AS n FROM (SELECT FROM duplicate_due WHERE NOT has_keys LIMIT :most) d

-- delete_duplicate_keys --
-- Delete the keys of the names of entities.
DELETE FROM duplicate_key k
USING unnest(CAST(:tenants AS bigint[]), CAST(:entities AS uuid[])) AS a(tenant, entity)
WHERE k.tenant = a.tenant AND k.entity = a.entity

-- delete_inactive_keys --
-- Delete the keys of those of the given records that are not active.
DELETE FROM duplicate_key k
USING unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)
JOIN record r ON r.tenant = a.tenant AND r.id = a.id AND r.state <> 1
WHERE k.tenant = a.tenant AND k.entity = a.id

-- delete_surplus_pairs --
-- Delete the least likely of the pairs to be decided on that one writer has in a group, beyond :most.
DELETE FROM duplicate_pair p
USING unnest(CAST(:writers AS text[])) AS asked(writer)
CROSS JOIN LATERAL (
  SELECT one, other FROM duplicate_pair
  WHERE tenant = :tenant AND scope = :scope AND sensitivity = :sensitivity AND state = 1 AND writer = asked.writer
  ORDER BY minus_score, one, other OFFSET :most
) surplus
WHERE p.tenant = :tenant AND p.one = surplus.one AND p.other = surplus.other

-- delete_unlisted_pairs --
-- Delete the pairs of the given records that are to be decided on and were not found again.
DELETE FROM duplicate_pair p
WHERE p.tenant = :tenant AND p.state = 1
  AND (p.one = ANY(CAST(:ids AS uuid[])) OR p.other = ANY(CAST(:ids AS uuid[])))
  AND NOT EXISTS (SELECT FROM unnest(CAST(:ones AS uuid[]), CAST(:others AS uuid[])) AS found(one, other)
    WHERE found.one = p.one AND found.other = p.other)

-- fetch_fact_subjects --
-- Fetch the entities that facts are about.
SELECT DISTINCT subject_entity FROM fact
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND subject_entity IS NOT NULL

-- find_entities_with_names --
-- Find entities of one group that have a name or alias of a given one, by terms of that group.
SELECT DISTINCT mine.entity, theirs.entity AS other
FROM entity_term mine
CROSS JOIN LATERAL (
  SELECT t.entity FROM entity_term t
  WHERE t.tenant = mine.tenant AND t.term_key = mine.term_key AND t.kind IN (2, 3)
    AND t.scope = :scope AND t.sensitivity = :sensitivity AND t.entity <> mine.entity
  ORDER BY t.entity LIMIT :most
) theirs
WHERE mine.tenant = :tenant AND mine.entity = ANY(CAST(:ids AS uuid[])) AND mine.kind IN (2, 3)
  AND mine.scope = :scope AND mine.sensitivity = :sensitivity

-- fetch_slots_of_facts --
-- Fetch the active facts of one group that are in a slot with a given one, and what tells apart those of one slot.
-- A slot of more than :slot facts, in any state, is passed over.
SELECT m.slot_key, o.condition_key, f.stated_key, o.id
FROM (
  SELECT DISTINCT r.slot_key FROM fact f JOIN record r ON r.tenant = f.tenant AND r.id = f.id
  WHERE f.tenant = :tenant AND f.id = ANY(CAST(:ids AS uuid[])) AND f.subject_entity IS NOT NULL AND r.state = 1
) m
CROSS JOIN LATERAL (
  SELECT s.id, s.state, s.condition_key, count(*) OVER () AS members FROM (
    SELECT r.id, r.state, r.condition_key FROM record r
    WHERE r.tenant = :tenant AND r.scope = :scope AND r.sensitivity = :sensitivity AND r.slot_key = m.slot_key
      AND r.type = 4
    LIMIT :slot + 1) s
) o
JOIN fact f ON f.tenant = :tenant AND f.id = o.id
WHERE o.members <= :slot AND o.state = 1 AND NOT f.subject_is_ambiguous

-- find_facts_of_one_object --
-- Find active facts of one group, subject, object, conditions and validity with a given one.
-- Of one subject and object, the first :slot facts in any state are looked at.
WITH mine AS MATERIALIZED (
  SELECT f.id, f.subject_entity, f.object_entity, f.value_key, f.stated_key, r.condition_key
  FROM fact f JOIN record r ON r.tenant = f.tenant AND r.id = f.id
  WHERE f.tenant = :tenant AND f.id = ANY(CAST(:ids AS uuid[])) AND f.subject_entity IS NOT NULL AND r.state = 1
), near AS (
  SELECT m.id AS fact, o.id AS other FROM mine m CROSS JOIN LATERAL (
    SELECT f.id FROM (
      SELECT id FROM fact
      WHERE tenant = :tenant AND subject_entity = m.subject_entity AND scope = :scope AND sensitivity = :sensitivity
        AND object_entity = m.object_entity AND value_key IS NULL
      ORDER BY id LIMIT :slot) f
    JOIN record r ON r.tenant = :tenant AND r.id = f.id AND r.state = 1
    ORDER BY f.id LIMIT :most) o
  WHERE m.object_entity IS NOT NULL
  UNION
  SELECT m.id, o.id FROM mine m CROSS JOIN LATERAL (
    SELECT f.id FROM (
      SELECT id FROM fact
      WHERE tenant = :tenant AND subject_entity = m.subject_entity AND scope = :scope AND sensitivity = :sensitivity
        AND object_entity IS NULL AND value_key = m.value_key
      ORDER BY id LIMIT :slot) f
    JOIN record r ON r.tenant = :tenant AND r.id = f.id AND r.state = 1
    ORDER BY f.id LIMIT :most) o
  WHERE m.object_entity IS NULL
)
SELECT n.fact, n.other
FROM near n
JOIN mine m ON m.id = n.fact
JOIN fact f ON f.tenant = :tenant AND f.id = n.other
JOIN record r ON r.tenant = :tenant AND r.id = n.other
WHERE n.other <> n.fact AND r.condition_key = m.condition_key AND f.stated_key = m.stated_key
  AND NOT f.subject_is_ambiguous
ORDER BY n.fact, n.other

-- find_named_alike --
-- Find entities of one group that have a key of a name that a given one is looked for by, the most alike first.
-- Of each key, the first :slot entities are looked at.
SELECT entity, other FROM (
  SELECT f.entity, f.other,
    row_number() OVER (PARTITION BY f.entity ORDER BY similarity(f.name, a.name) DESC, f.name, f.other) AS place
  FROM (
    SELECT DISTINCT q.entity, k.entity AS other, r.name
    FROM unnest(CAST(:entities AS uuid[]), CAST(:keys AS bigint[])) AS q(entity, key)
    CROSS JOIN LATERAL (
      SELECT entity FROM duplicate_key WHERE tenant = :tenant AND key = q.key ORDER BY entity LIMIT :slot
    ) k
    JOIN record r ON r.tenant = :tenant AND r.id = k.entity
    WHERE k.entity <> q.entity AND r.scope = :scope AND r.sensitivity = :sensitivity AND r.state = 1
  ) f
  JOIN unnest(CAST(:ids AS uuid[]), CAST(:names AS text[])) AS a(id, name) ON a.id = f.entity
) n
WHERE place <= :most ORDER BY entity, place

-- find_next_duplicate_group --
-- Find a group that has queued records, the first one after a given one.
SELECT tenant, scope, sensitivity FROM duplicate_due
WHERE (tenant, scope, sensitivity) > (:tenant, :scope, :sensitivity)
ORDER BY tenant, scope, sensitivity LIMIT 1

-- find_rejected_pairs --
-- Find which of the given pairs were rejected.
SELECT p.one, p.other
FROM unnest(CAST(:ones AS uuid[]), CAST(:others AS uuid[])) AS asked(one, other)
JOIN duplicate_pair p ON p.tenant = :tenant AND p.one = asked.one AND p.other = asked.other
WHERE p.state = 2

-- find_sharing_entities --
-- Find entities of one group that several facts say the same of as of a given one, the most first.
-- An object that more than :common active facts of the group name, or :slot in any state, is no evidence. Of the facts
-- about an entity, the first :slot in any state are looked at.
WITH mine AS MATERIALIZED (
  SELECT a.id AS entity, o.predicate_key, o.object_entity
  FROM unnest(CAST(:ids AS uuid[])) AS a(id)
  CROSS JOIN LATERAL (
    SELECT f.predicate_key, f.object_entity FROM (
      SELECT id, predicate_key, object_entity, value_key FROM fact
      WHERE tenant = :tenant AND subject_entity = a.id AND scope = :scope AND sensitivity = :sensitivity
        AND object_entity IS NOT NULL
      ORDER BY object_entity, value_key, id LIMIT :slot) f
    JOIN record r ON r.tenant = :tenant AND r.id = f.id AND r.state = 1
    ORDER BY f.object_entity, f.predicate_key LIMIT :objects) o
), naming AS MATERIALIZED (
  SELECT n.object_entity, n.subject_entity, n.predicate_key FROM (
    SELECT d.object_entity, f.subject_entity, f.predicate_key, f.named, count(*) OVER (PARTITION BY d.object_entity) AS facts
    FROM (SELECT DISTINCT object_entity FROM mine) d
    CROSS JOIN LATERAL (
      SELECT s.id, s.subject_entity, s.predicate_key, count(*) OVER () AS named FROM (
        SELECT id, subject_entity, predicate_key FROM fact
        WHERE tenant = :tenant AND object_entity = d.object_entity AND scope = :scope AND sensitivity = :sensitivity
        ORDER BY id LIMIT :slot + 1) s) f
    JOIN record r ON r.tenant = :tenant AND r.id = f.id AND r.state = 1
    WHERE f.named <= :slot AND f.subject_entity IS NOT NULL) n
  WHERE n.facts <= :common
), sharing AS (
  SELECT m.entity, n.subject_entity AS other, count(DISTINCT (m.predicate_key, m.object_entity)) AS shared
  FROM mine m JOIN naming n ON n.object_entity = m.object_entity AND n.predicate_key = m.predicate_key
  WHERE n.subject_entity <> m.entity
  GROUP BY m.entity, n.subject_entity
), ranked AS (
  SELECT s.*, row_number() OVER (PARTITION BY s.entity ORDER BY s.shared DESC, s.other) AS place FROM sharing s
  WHERE s.shared > 1
)
SELECT entity, other FROM ranked WHERE place <= :most ORDER BY entity, place

-- fetch_entity_statements --
-- Fetch what facts of one group say of entities, at most :most of each, in the order of their objects.
-- Of the facts about an entity, the first :slot in any state are looked at.
SELECT a.id AS entity, o.predicate_key, o.object_entity, o.value_key, o.condition_key, o.stated_key, o.single_valued
FROM unnest(CAST(:ids AS uuid[])) AS a(id)
CROSS JOIN LATERAL (
  SELECT f.predicate_key, f.object_entity, f.value_key, r.condition_key, f.stated_key, r.single_valued
  FROM (
    SELECT id, predicate_key, object_entity, value_key, stated_key FROM fact
    WHERE tenant = :tenant AND subject_entity = a.id AND scope = :scope AND sensitivity = :sensitivity
    ORDER BY object_entity, value_key, id LIMIT :slot) f
  JOIN record r ON r.tenant = :tenant AND r.id = f.id AND r.state = 1
  ORDER BY f.object_entity, f.value_key, f.predicate_key, f.id LIMIT :most) o

-- fetch_fact_objects --
-- Fetch the entities that the objects of facts are.
SELECT id, object_entity FROM fact WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- find_creators --
-- Find who captured records.
SELECT id, actor FROM audit WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND seq = 1

-- insert_listed_pairs --
-- Insert pairs to be decided on; one that was rejected stays so, and one that was listed keeps its instant.
INSERT INTO duplicate_pair AS p (tenant, one, other, scope, sensitivity, state, score, evidence, writer, at)
SELECT :tenant, one, other, :scope, :sensitivity, 1, score, CAST(evidence AS jsonb), writer, :at
FROM unnest(CAST(:ones AS uuid[]), CAST(:others AS uuid[]), CAST(:scores AS float8[]), CAST(:evidence AS text[]),
  CAST(:writers AS text[])) AS found(one, other, score, evidence, writer)
ON CONFLICT (tenant, one, other) DO UPDATE
SET score = excluded.score, evidence = excluded.evidence, writer = excluded.writer
WHERE p.state = 1
  AND (p.score, p.evidence, p.writer) IS DISTINCT FROM (excluded.score, excluded.evidence, excluded.writer)

-- insert_duplicate_keys --
-- Insert the keys of names.
INSERT INTO duplicate_key (tenant, key, entity)
SELECT k.tenant, k.key, k.entity
FROM unnest(CAST(:tenants AS bigint[]), CAST(:keys AS bigint[]), CAST(:entities AS uuid[])) AS k(tenant, key, entity)
ORDER BY k.tenant, k.key, k.entity

-- list_pairs --
-- List the pairs to be decided on whose records are current and which the caller may read in full, the likeliest first.
-- Of each scope and sensitivity of the caller, or each sensitivity if it has all scopes, the first ones are read.
WITH level AS (
  SELECT l AS sensitivity FROM generate_series(0, CAST(:ceiling AS smallint)) AS l
), place AS (
  SELECT s.scope, l.sensitivity FROM unnest(CAST(:scopes AS integer[])) AS s(scope) CROSS JOIN level l
  WHERE NOT :all_scopes
), found AS (
  SELECT f.* FROM place g CROSS JOIN LATERAL (
    {listed_pairs} AND p.scope = g.scope AND p.sensitivity = g.sensitivity
    ORDER BY p.minus_score, p.one, p.other LIMIT :limit) f
  UNION ALL
  SELECT f.* FROM level g CROSS JOIN LATERAL (
    {listed_pairs} AND p.sensitivity = g.sensitivity
    ORDER BY p.minus_score, p.one, p.other LIMIT :limit) f
  WHERE :all_scopes
)
SELECT one, other, score, evidence, at FROM found ORDER BY minus_score, one, other LIMIT :limit

-- listed_pairs --
-- The pairs to be decided on after a place in the list whose records are current.
SELECT p.minus_score, p.one, p.other, p.score, p.evidence, p.at
FROM duplicate_pair p
JOIN record a ON a.tenant = p.tenant AND a.id = p.one AND a.state = 1
JOIN record b ON b.tenant = p.tenant AND b.id = p.other AND b.state = 1
WHERE p.tenant = :tenant AND p.state = 1 AND (p.minus_score, p.one, p.other)
  > (CAST(:after_minus_score AS float8), CAST(:after_one AS uuid), CAST(:after_other AS uuid))

-- list_records_beyond --
-- List the keys of the next records in the order of their keys.
SELECT tenant, id FROM record WHERE {beyond} ORDER BY tenant, id LIMIT :limit

-- lock_keyless_entities --
-- Lock queued entities whose keys are to be noted, with their names; a sealed name is empty.
SELECT d.tenant, d.id, d.scope, d.sensitivity, CASE WHEN r.sealed IS NULL THEN r.name ELSE '' END AS name
FROM duplicate_due d JOIN record r ON r.tenant = d.tenant AND r.id = d.id
WHERE NOT d.has_keys ORDER BY d.tenant, d.id LIMIT :limit FOR UPDATE OF d SKIP LOCKED FOR KEY SHARE OF r SKIP LOCKED

-- note_duplicate_keys --
-- Note of queued entities that their keys are stored.
UPDATE duplicate_due d SET has_keys = true
FROM unnest(CAST(:tenants AS bigint[]), CAST(:entities AS uuid[])) AS a(tenant, entity)
WHERE d.tenant = a.tenant AND d.id = a.entity

-- note_duplicates_followed --
-- Note the snapshot up to which the change log was followed for the queue.
UPDATE duplicate_progress SET nonce = :nonce

-- queue_duplicates --
-- Queue those of the given records that are active entities or facts; entities that are queued may have another name.
INSERT INTO duplicate_due AS d (tenant, id, scope, sensitivity, about, has_keys)
SELECT {to_compare}
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS asked(tenant, id)
JOIN record r ON r.tenant = asked.tenant AND r.id = asked.id
LEFT JOIN fact f ON f.tenant = r.tenant AND f.id = r.id
WHERE r.type IN (3, 4) AND r.state = 1
ON CONFLICT (tenant, id) DO UPDATE SET has_keys = false WHERE d.has_keys AND NOT excluded.has_keys

-- queue_set_aside_duplicates --
-- Queue the active entities and facts that a job has set aside and is to try again.
INSERT INTO duplicate_due (tenant, id, scope, sensitivity, about, has_keys)
SELECT {to_compare}
FROM job_set_aside j
JOIN record r ON r.tenant = j.tenant AND r.id = j.id
LEFT JOIN fact f ON f.tenant = r.tenant AND f.id = r.id
WHERE j.job = :job AND j.next_try_at <= :now AND r.type IN (3, 4) AND r.state = 1
ON CONFLICT (tenant, id) DO NOTHING

-- read_duplicate_progress --
-- Read how far the change log was followed, and existing records were queued.
SELECT is_filling, after_tenant, after_id, nonce FROM duplicate_progress

-- reject_merged --
-- Note that the records that one of the given ones superseded do not say the same.
INSERT INTO duplicate_pair AS p (tenant, one, other, scope, sensitivity, state, score, evidence, at)
SELECT a.tenant, least(a.target, b.target), greatest(a.target, b.target), r.scope, r.sensitivity, 2, 0, '{}', :at
FROM relation a
JOIN predicate n ON n.tenant = a.tenant AND n.id = a.predicate AND n.name = 'supersedes'
JOIN relation b ON b.tenant = a.tenant AND b.source = a.source AND b.predicate = a.predicate AND b.target > a.target
JOIN record r ON r.tenant = a.tenant AND r.id = a.target
JOIN record o ON o.tenant = b.tenant AND o.id = b.target
WHERE a.tenant = :tenant AND a.source = ANY(CAST(:ids AS uuid[]))
  AND (o.type, o.scope, o.sensitivity) = (r.type, r.scope, r.sensitivity)
ON CONFLICT (tenant, one, other) DO UPDATE SET state = 2, at = excluded.at WHERE p.state = 1

-- reject_pair --
-- Note that two records do not say the same.
INSERT INTO duplicate_pair AS p (tenant, one, other, scope, sensitivity, state, score, evidence, at)
SELECT :tenant, a.id, b.id, a.scope, a.sensitivity, 2, 0, '{}', :at
FROM record a JOIN record b ON b.tenant = a.tenant AND b.id = :other
WHERE a.tenant = :tenant AND a.id = :one
ON CONFLICT (tenant, one, other) DO UPDATE SET state = 2, at = excluded.at WHERE p.state = 1

-- to_compare --
-- Fragment: a record in the queue, from the record (`r`) and the fact (`f`) that it may be.
r.tenant, r.id, r.scope, r.sensitivity, coalesce(f.subject_entity, r.id), r.type = 4

-- withdraw_duplicate_due --
-- Take the given records out of the queue.
DELETE FROM duplicate_due WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) RETURNING id
