-- find_stored_ids --
-- Find the records that are stored under some ids.
SELECT id FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- find_restored_records --
-- Fetch what is stored under some ids, with the content, to compare it with what is to be restored.
SELECT id, type, scope, sensitivity, state, version, created_at, name, text, payload, provenance, interpretation, learned_state, sealed
FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- find_restored_entries --
-- Fetch the entries of some chains in their order, without the rationales.
SELECT id, action, actor, at FROM audit
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) ORDER BY id, seq

-- find_active_rivals --
-- Find active facts that equal active facts to restore, or hold another value of a single-valued slot at the same time.
SELECT w.place, f.id, f.is_equal
FROM unnest(CAST(:places AS integer[]), CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]),
  CAST(:slots AS bytea[]), CAST(:facts AS bytea[]), CAST(:conditions AS bytea[]),
  CAST(CAST(:validities AS text[]) AS tstzrange[]), CAST(:single AS boolean[]))
  AS w(place, scope, sensitivity, slot, fact, condition, validity, single)
CROSS JOIN LATERAL (
  (SELECT r.id, true AS is_equal FROM record r
   WHERE r.tenant = :tenant AND r.scope = w.scope AND r.sensitivity = w.sensitivity
     AND r.fact_key >= w.fact AND r.fact_key <= w.fact AND r.type = 4 AND r.state = 1
   ORDER BY r.fact_key LIMIT 1)
  UNION ALL
  (SELECT r.id, false FROM record r
   WHERE w.single AND r.tenant = :tenant AND r.scope = w.scope AND r.sensitivity = w.sensitivity
     AND r.slot_key = w.slot AND r.condition_key = w.condition AND r.state = 1 AND r.single_valued
     AND r.validity && w.validity
   LIMIT 1)
) f

-- find_equal_facts --
-- Find the stored facts of the same content as facts to restore, active ones first; past ones where they are wanted.
-- The history of a slot is read once, however many facts it is read for.
WITH w AS MATERIALIZED (
  SELECT * FROM unnest(CAST(:places AS integer[]), CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]),
    CAST(:slots AS bytea[]), CAST(:facts AS bytea[]), CAST(CAST(:validities AS text[]) AS tstzrange[]), CAST(:past AS boolean[]))
    AS w(place, scope, sensitivity, slot, fact, validity, past)
), past AS MATERIALIZED (
  SELECT r.id, r.state, r.scope, r.sensitivity, r.fact_key, r.validity
  FROM (SELECT DISTINCT scope, sensitivity, slot FROM w WHERE w.past) s
  CROSS JOIN LATERAL (
    SELECT id, state, scope, sensitivity, fact_key, validity FROM record
    WHERE tenant = :tenant AND scope = s.scope AND sensitivity = s.sensitivity AND slot_key = s.slot AND type = 4
    OFFSET 0
  ) r
  WHERE r.state > 2
)
SELECT w.place, f.id, f.state, f.validity = w.validity AS is_as_long
FROM w CROSS JOIN LATERAL (
  (SELECT r.id, r.state, r.validity FROM record r
   WHERE r.tenant = :tenant AND r.scope = w.scope AND r.sensitivity = w.sensitivity
     AND r.fact_key >= w.fact AND r.fact_key <= w.fact AND r.type = 4 AND r.state = 1
   ORDER BY r.fact_key LIMIT 1)
  UNION ALL
  (SELECT r.id, r.state, r.validity FROM record r
   WHERE r.tenant = :tenant AND r.scope = w.scope AND r.sensitivity = w.sensitivity AND r.slot_key = w.slot
     AND r.fact_key = w.fact AND r.type = 4 AND r.state = 2)
  UNION ALL
  (SELECT p.id, p.state, p.validity FROM past p
   WHERE w.past AND p.scope = w.scope AND p.sensitivity = w.sensitivity AND p.fact_key = w.fact)
) f
ORDER BY w.place, f.state, f.id

-- find_taken_terms --
-- Find the entities that have some identifiers, each at its scope and sensitivity.
SELECT w.place, t.entity
FROM unnest(CAST(:places AS integer[]), CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]), CAST(:keys AS bytea[]))
  AS w(place, scope, sensitivity, key)
JOIN entity_term t ON t.tenant = :tenant AND t.scope = w.scope AND t.sensitivity = w.sensitivity AND t.term_key = w.key
  AND t.kind = 1

-- find_working_of_threads --
-- Find the working records of some threads, given by handle key.
SELECT w.place, r.id
FROM unnest(CAST(:places AS integer[]), CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]), CAST(:keys AS bytea[]))
  AS w(place, scope, sensitivity, key)
JOIN record r ON r.tenant = :tenant AND r.scope = w.scope AND r.sensitivity = w.sensitivity AND r.handle_key = w.key
  AND r.type = 2 AND r.state = 1

-- find_open_episodes_of_threads --
-- Find the open episodes of some threads, given by thread key.
SELECT w.place, e.id
FROM unnest(CAST(:places AS integer[]), CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]), CAST(:keys AS bytea[]))
  AS w(place, scope, sensitivity, key)
JOIN episode e ON e.tenant = :tenant AND e.scope = w.scope AND e.sensitivity = w.sensitivity AND e.thread_key = w.key
  AND e.closed_at IS NULL

-- find_restored_relations --
-- Tell of relations to restore whether their ends are stored, and which relation has their id or place.
-- Each is looked up by itself: joined, the tables would be scanned while the server has no statistics of a new store.
SELECT w.place, s.id IS NOT NULL AS has_source, d.id IS NOT NULL AS has_target,
  r.source AS stored_source, r.target AS stored_target, o.id AS open_id
FROM unnest(CAST(:places AS integer[]), CAST(:ids AS uuid[]), CAST(:sources AS uuid[]), CAST(:targets AS uuid[]),
  CAST(:predicates AS text[]), CAST(:open AS boolean[])) AS w(place, id, source, target, predicate, is_open)
LEFT JOIN predicate p ON p.tenant = :tenant AND p.name = w.predicate
LEFT JOIN LATERAL (SELECT id FROM record WHERE tenant = :tenant AND id = w.source LIMIT 1) s ON true
LEFT JOIN LATERAL (SELECT id FROM record WHERE tenant = :tenant AND id = w.target LIMIT 1) d ON true
LEFT JOIN LATERAL (SELECT source, target FROM relation WHERE tenant = :tenant AND id = w.id LIMIT 1) r ON true
LEFT JOIN LATERAL (
  SELECT id FROM relation
  WHERE w.is_open AND tenant = :tenant AND source = w.source AND predicate = p.id AND target = w.target
    AND ended_at IS NULL
  LIMIT 1
) o ON true

-- find_member_calls --
-- Fetch the ids of the tool calls that some records are, with the content of sealed ones.
SELECT id, sealed, payload #>> '{tool_graph,0,id}' AS call FROM record
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND (sealed IS NOT NULL OR payload ? 'tool_graph')
