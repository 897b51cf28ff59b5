-- fetch_fact_predicates --
-- Fetch a tenant's registrations of predicates; all of them for null.
-- Prepared: keys only, found by indexes.
SELECT predicate, single_valued, object_kind FROM fact_predicate
WHERE tenant = :tenant AND (CAST(:names AS text[]) IS NULL OR predicate = ANY(CAST(:names AS text[])))
ORDER BY predicate

-- find_slot_facts --
-- Find current facts that equal new facts, and those whose validity overlaps :intervals (null: only equal ones).
-- Conditional facts are compared with conditional ones only. :single tells whether a slot is single-valued.
-- Before the table was first analysed, all indexes that begin with the same columns look alike to the planner. So equal
-- facts are sought in the order of their key, which only the right index gives, and a fact may be found twice, since
-- removing the second would ask for the order of another index.
-- Prepared: keys only, found by indexes.
SELECT w.position, f.id
FROM unnest(
  CAST(:positions AS integer[]), CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]),
  CAST(:slots AS bytea[]), CAST(:facts AS bytea[]), CAST(CAST(:intervals AS text[]) AS tstzrange[]),
  CAST(:conditional AS boolean[]), CAST(:single AS boolean[])
) AS w(position, scope, sensitivity, slot, fact, validity, conditional, single)
CROSS JOIN LATERAL (
  (SELECT r.id FROM record r
   WHERE r.tenant = :tenant AND r.scope = w.scope AND r.sensitivity = w.sensitivity
     AND r.fact_key >= w.fact AND r.fact_key <= w.fact AND r.type = 4 AND r.state = 1
   ORDER BY r.fact_key LIMIT 1)
  UNION ALL
  (SELECT r.id FROM record r
   WHERE r.tenant = :tenant AND r.scope = w.scope AND r.sensitivity = w.sensitivity AND r.slot_key = w.slot
     AND r.fact_key = w.fact AND r.type = 4 AND r.state = 2)
  UNION ALL
  (SELECT r.id FROM record r
   WHERE w.single AND w.validity IS NOT NULL
     AND r.tenant = :tenant AND r.scope = w.scope AND r.sensitivity = w.sensitivity AND r.slot_key = w.slot
     AND r.state = 1 AND r.single_valued AND r.validity && w.validity
     AND (r.condition_key <> :unconditional) = w.conditional
   LIMIT :limit)
  UNION ALL
  (SELECT r.id FROM record r
   WHERE NOT w.single AND w.validity IS NOT NULL
     AND r.tenant = :tenant AND r.scope = w.scope AND r.sensitivity = w.sensitivity AND r.slot_key = w.slot
     AND r.type = 4 AND r.state = 1 AND NOT r.single_valued AND r.validity && w.validity
     AND (r.condition_key <> :unconditional) = w.conditional
   LIMIT :limit)
  UNION ALL
  (SELECT r.id FROM record r
   WHERE w.validity IS NOT NULL AND r.tenant = :tenant AND r.scope = w.scope AND r.sensitivity = w.sensitivity
     AND r.slot_key = w.slot AND r.type = 4 AND r.state = 2 AND r.validity && w.validity
     AND (r.condition_key <> :unconditional) = w.conditional
   LIMIT :limit)
) f

-- find_slot_members --
-- Find at most :limit active facts of a slot.
SELECT id FROM record
WHERE tenant = :tenant AND scope = :scope AND sensitivity = :sensitivity AND slot_key = :slot AND type = 4 AND state = 1
LIMIT :limit

-- count_slot_rows --
-- Count the facts of a slot in any state, at most :limit.
SELECT count(*) AS n FROM (
  SELECT 1 FROM record
  WHERE tenant = :tenant AND scope = :scope AND sensitivity = :sensitivity AND slot_key = :slot AND type = 4
  LIMIT :limit
) counted

-- lock_current_facts --
-- Lock the given facts that are active or contested, in id order. Only conditional facts need their content.
-- Prepared: keys only, found by indexes.
SELECT r.id, r.scope, r.sensitivity, r.slot_key, r.fact_key, r.condition_key, r.state, r.updated_at,
  lower(r.validity) AS starts_at, upper(r.validity) AS ends_at,
  lower(coalesce(f.stated, r.validity)) AS stated_start, upper(coalesce(f.stated, r.validity)) AS stated_end,
  coalesce(f.evidence_at, r.occurred_at) AS evidence_at,
  CASE WHEN r.condition_key <> :unconditional THEN r.payload #> '{validity,conditions}' END AS conditions,
  CASE WHEN r.condition_key <> :unconditional THEN r.sealed END AS sealed
FROM record r LEFT JOIN fact f ON f.tenant = r.tenant AND f.id = r.id
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[])) AND r.type = 4 AND r.state <= 2
ORDER BY r.id FOR UPDATE OF r

-- lock_slots --
-- Lock the given slots, in the order of all writers.
-- Prepared: keys only, found by indexes.
SELECT s.scope, s.sensitivity, s.slot_key, s.single_valued
FROM unnest((SELECT CAST(:scopes AS integer[])), (SELECT CAST(:sensitivities AS smallint[])), (SELECT CAST(:slots AS bytea[])))
  AS asked(scope, sensitivity, slot)
JOIN fact_slot s ON s.tenant = :tenant AND s.scope = asked.scope AND s.sensitivity = asked.sensitivity
  AND s.slot_key = asked.slot
ORDER BY s.scope, s.sensitivity, s.slot_key FOR UPDATE OF s

-- lock_slots_of --
-- Lock the slots of the given facts, in the order of all writers.
SELECT s.scope, s.sensitivity, s.slot_key, s.single_valued FROM fact_slot s
WHERE s.tenant = :tenant AND (s.scope, s.sensitivity, s.slot_key) IN (
  SELECT r.scope, r.sensitivity, r.slot_key FROM record r
  WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[])) AND r.type = 4
)
ORDER BY s.scope, s.sensitivity, s.slot_key FOR UPDATE

-- note_evidence --
-- Keep the time of the latest evidence of a fact.
-- Prepared: keys only, found by indexes.
UPDATE fact SET evidence_at = greatest(evidence_at, CAST(:at AS timestamptz)) WHERE tenant = :tenant AND id = :id

-- insert_trims --
-- Remember trims. Of two on one side by the same fact, the one that leaves less is kept.
INSERT INTO fact_trim (tenant, fact, by_fact, side, at)
SELECT :tenant, t.* FROM unnest(
  CAST(:facts AS uuid[]), CAST(:by_facts AS uuid[]), CAST(:sides AS smallint[]), CAST(:instants AS timestamptz[])
) AS t
ON CONFLICT (tenant, fact, by_fact, side) DO UPDATE
SET at = CASE excluded.side WHEN 1 THEN greatest(fact_trim.at, excluded.at) ELSE least(fact_trim.at, excluded.at) END

-- take_trims --
-- Delete the trims by the given facts, and return them.
DELETE FROM fact_trim WHERE tenant = :tenant AND by_fact = ANY(CAST(:ids AS uuid[])) RETURNING fact, by_fact, side, at

-- trims_of --
-- Fetch the trims of the given facts.
SELECT fact, by_fact, side, at FROM fact_trim WHERE tenant = :tenant AND fact = ANY(CAST(:ids AS uuid[]))

-- trimmed_by --
-- Fetch the current facts that the given facts trim.
SELECT DISTINCT t.fact FROM fact_trim t
JOIN record r ON r.tenant = t.tenant AND r.id = t.fact AND r.state <= 2
WHERE t.tenant = :tenant AND t.by_fact = ANY(CAST(:ids AS uuid[]))

-- forget_trims --
-- Remove trims from the history of facts: a version without a validity is read with the present one.
UPDATE record_history h SET validity = NULL
FROM unnest(CAST(:facts AS uuid[]), CAST(:sides AS smallint[]), CAST(:instants AS timestamptz[])) AS t(fact, side, at)
WHERE h.tenant = :tenant AND h.id = t.fact
  AND CASE t.side WHEN 1 THEN lower(h.validity) ELSE upper(h.validity) END = t.at
