-- erase_candidates --
-- The traces of captures go with what they became, and by the foreign key the idempotency keys that name them.
DELETE FROM candidate
WHERE tenant = :tenant AND (record = ANY(CAST(:ids AS uuid[])) OR id = ANY(CAST(:candidates AS uuid[])))

-- erase_captures --
-- Of some captures those that are still known, and that did not become a record that goes.
SELECT id FROM candidate
WHERE tenant = :tenant AND id = ANY(CAST(:candidates AS uuid[])) AND (record IS NULL OR record <> ALL(CAST(:ids AS uuid[])))

-- erase_counts --
-- How much goes with some records.
SELECT
  (SELECT count(*) FROM relation e
    WHERE e.tenant = :tenant AND (e.source = ANY(CAST(:ids AS uuid[])) OR e.target = ANY(CAST(:ids AS uuid[])))) AS relations,
  (SELECT count(*) FROM record_history WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))) AS history,
  (SELECT count(*) FROM entity_term WHERE tenant = :tenant AND entity = ANY(CAST(:ids AS uuid[]))) AS names,
  (SELECT count(*) FROM episode_event
    WHERE tenant = :tenant AND (record = ANY(CAST(:ids AS uuid[])) OR episode = ANY(CAST(:ids AS uuid[])))) AS events,
  (SELECT count(*) FROM reevaluation WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))) AS reevaluations

-- erase_dead_letters --
-- Changes that the mirror refused, with what it said of them.
DELETE FROM sync_parked WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- erase_dependents --
-- What was ever derived from some records, whatever its state now, with all it was derived from.
WITH kinds AS MATERIALIZED (
  SELECT id FROM predicate WHERE tenant = :tenant AND name IN ('derived_semantic', 'supports')
), derived AS MATERIALIZED (
  SELECT DISTINCT e.target AS id FROM relation e
  WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[])) AND e.predicate IN (SELECT id FROM kinds)
    AND e.target <> ALL(CAST(:known AS uuid[]))
)
SELECT d.id, r.provenance, r.sealed, ARRAY(
  SELECT e.source FROM relation e
  WHERE e.tenant = :tenant AND e.target = d.id AND e.predicate IN (SELECT id FROM kinds)) AS sources
FROM derived d
CROSS JOIN LATERAL (SELECT provenance, sealed FROM record WHERE tenant = :tenant AND id = d.id LIMIT 1) r

-- erase_elsewhere --
-- Records with all words of a name, newest first.
SELECT id, name, text, payload, provenance, interpretation, sealed FROM record
WHERE tenant = :tenant AND terms @> CAST(:terms AS integer[]) ORDER BY id DESC LIMIT :limit

-- erase_emptied --
-- Episodes that consist of nothing but records that go.
SELECT v.episode AS id
FROM episode_event v
WHERE v.tenant = :tenant AND v.episode <> ALL(CAST(:ids AS uuid[])) AND v.episode IN (
  SELECT m.episode FROM episode_event m WHERE m.tenant = :tenant AND m.record = ANY(CAST(:ids AS uuid[])))
GROUP BY v.episode
HAVING bool_and(v.record = ANY(CAST(:ids AS uuid[])))

-- erase_episode_words --
-- A closed episode was found by its members' words: what it was is found by the words of those that are left.
UPDATE record_history h SET terms = r.terms, impacts = r.impacts
FROM record r
WHERE r.tenant = h.tenant AND r.id = h.id AND h.tenant = :tenant AND h.id = ANY(CAST(:ids AS uuid[])) AND h.terms <> '{}'
RETURNING h.id, h.row_version

-- erase_identities --
-- An entity, and the entities that were merged into it or that it was merged into.
WITH RECURSIVE same(id) AS (
  SELECT id FROM record WHERE tenant = :tenant AND id = :id AND type = 3
  UNION
  SELECT r.id
  FROM same s
  JOIN relation e ON e.tenant = :tenant AND (e.source = s.id OR e.target = s.id)
  JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'supersedes'
  JOIN record r ON r.tenant = e.tenant AND r.id = CASE WHEN e.source = s.id THEN e.target ELSE e.source END AND r.type = 3
)
SELECT id FROM same

-- erase_invalid_references --
-- Of some records those that went and hold nothing any more; what was merely forgotten still does.
SELECT id FROM tombstone WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND cause <> 1

-- erase_linked --
-- All records linked to some entities.
-- Other entities that they themselves point to are named by them, not about them.
SELECT e.source AS id FROM relation e WHERE e.tenant = :tenant AND e.target = ANY(CAST(:ids AS uuid[]))
UNION
SELECT e.target FROM relation e JOIN record r ON r.tenant = e.tenant AND r.id = e.target AND r.type <> 3
WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))

-- erase_lock_episodes --
-- Episodes that lose members, locked in the order in which writers lock them, or whole ones that go.
SELECT id, scope, closed_at IS NOT NULL AS closed FROM episode
WHERE tenant = :tenant AND id IN (
  SELECT episode FROM episode_event WHERE tenant = :tenant AND record = ANY(CAST(:ids AS uuid[]))
  UNION ALL
  SELECT unnest(CAST(:ids AS uuid[])))
ORDER BY scope, sensitivity, thread_key FOR UPDATE

-- erase_members --
-- The records that some episodes consist of.
SELECT record AS id FROM episode_event WHERE tenant = :tenant AND episode = ANY(CAST(:ids AS uuid[]))

-- erase_neighbours --
-- Records that stay and may repeat something of those that go: related ones, and entities made together with them.
WITH near AS MATERIALIZED (
  SELECT e.target AS id FROM relation e WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))
  UNION
  SELECT e.source FROM relation e WHERE e.tenant = :tenant AND e.target = ANY(CAST(:ids AS uuid[]))
  UNION
  SELECT unnest(c.created_records) FROM candidate c WHERE c.tenant = :tenant AND c.record = ANY(CAST(:ids AS uuid[]))
)
SELECT n.id FROM near n
WHERE n.id <> ALL(CAST(:ids AS uuid[]))
  AND (SELECT true FROM record r WHERE r.tenant = :tenant AND r.id = n.id)

-- erase_notes --
-- The text of rationales; the chain speaks of their hashes and stays whole.
DELETE FROM audit_note WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- erase_orphans --
-- Entities that captures of records that go have made (`made`) or named, and that nothing else names.
-- One that was captured in its own right is not among them. Scalar subqueries, so that each is a look-up whatever the
-- statistics say.
WITH named AS MATERIALIZED (
  SELECT id, bool_or(made) AS made
  FROM (
    SELECT e.target AS id, false AS made FROM relation e WHERE e.tenant = :tenant AND e.source = ANY(CAST(:ids AS uuid[]))
    UNION ALL
    SELECT unnest(c.created_records), true FROM candidate c
    WHERE c.tenant = :tenant AND c.record = ANY(CAST(:ids AS uuid[]))
  ) n
  WHERE id <> ALL(CAST(:ids AS uuid[]))
  GROUP BY id
)
SELECT n.id, n.made, r.provenance, r.sealed
FROM named n
CROSS JOIN LATERAL (
  SELECT provenance, sealed FROM record WHERE tenant = :tenant AND id = n.id AND type = 3 LIMIT 1
) r
WHERE (SELECT true FROM relation e
    WHERE e.tenant = :tenant AND e.source = n.id AND e.target <> ALL(CAST(:ids AS uuid[])) LIMIT 1) IS NULL
  AND (SELECT true FROM relation e
    WHERE e.tenant = :tenant AND e.target = n.id AND e.source <> ALL(CAST(:ids AS uuid[])) LIMIT 1) IS NULL
  AND (SELECT true FROM candidate c WHERE c.tenant = :tenant AND c.record = n.id LIMIT 1) IS NULL

-- erase_page --
-- The next records of a scope, or of the whole tenant, that go.
SELECT id FROM record
WHERE tenant = :tenant AND (CAST(:scope AS integer) IS NULL OR scope = :scope) ORDER BY id LIMIT :limit

-- erase_recount_episodes --
-- What is left of locked episodes.
-- While one is open its count is also the place of its next event, so it stays.
UPDATE episode e SET
  events = CASE WHEN e.closed_at IS NULL THEN e.events
    ELSE (SELECT count(*) FROM episode_event v WHERE v.tenant = e.tenant AND v.episode = e.id) END,
  last_record = (SELECT v.record FROM episode_event v WHERE v.tenant = e.tenant AND v.episode = e.id
    ORDER BY v.position DESC LIMIT 1)
WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[]))

-- erase_retrievals --
-- Answers of the past no longer name what went.
UPDATE retrieval SET
  roots = ARRAY(SELECT id FROM unnest(roots) WITH ORDINALITY AS x(id, place)
    WHERE id <> ALL(CAST(:ids AS uuid[])) ORDER BY place),
  nodes = ARRAY(SELECT id FROM unnest(nodes) WITH ORDINALITY AS x(id, place)
    WHERE id <> ALL(CAST(:ids AS uuid[])) ORDER BY place)
WHERE tenant = :tenant AND (roots && CAST(:ids AS uuid[]) OR nodes && CAST(:ids AS uuid[]))

-- erase_scope_candidates --
-- Traces of what a scope's records became that went long ago.
DELETE FROM candidate c USING tombstone t
WHERE t.tenant = :tenant AND t.scope = :scope AND c.tenant = t.tenant AND c.record = t.id

-- erase_scope_notes --
-- Rationales of records of a scope that went long ago.
DELETE FROM audit_note n USING tombstone t
WHERE t.tenant = :tenant AND t.scope = :scope AND n.tenant = t.tenant AND n.id = t.id

-- erase_tenant_records --
-- Records of a tenant that goes: no tombstone is left of them.
DELETE FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) RETURNING id, type, row_version

-- erase_total --
-- How many records of each type a scope, or the whole tenant, has.
SELECT type, count(*) AS records FROM record
WHERE tenant = :tenant AND (CAST(:scope AS integer) IS NULL OR scope = :scope) GROUP BY type

-- erase_traces --
-- By what provenance elsewhere may name records that go: their captures, and their refs where no other record has them.
SELECT NULL::bytea AS handle, c.id AS candidate
FROM candidate c WHERE c.tenant = :tenant AND c.record = ANY(CAST(:ids AS uuid[]))
UNION ALL
SELECT r.handle_key, NULL
FROM record r
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[])) AND r.handle_key IS NOT NULL
  AND (SELECT true FROM record o
    WHERE o.tenant = :tenant AND o.handle_key = r.handle_key AND o.id <> ALL(CAST(:ids AS uuid[])) LIMIT 1) IS NULL

-- erase_types --
-- How many of some records there are of each type.
SELECT type, count(*) AS records FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) GROUP BY type
