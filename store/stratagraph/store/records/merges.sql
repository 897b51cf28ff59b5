-- delete_crossing_trims --
-- Delete the trims between the facts of two entities that are no longer one, and return the facts that they trimmed.
DELETE FROM fact_trim t
WHERE t.tenant = :tenant AND (t.fact = ANY(CAST(:ids AS uuid[]))) <> (t.by_fact = ANY(CAST(:ids AS uuid[])))
  AND (t.fact = ANY(CAST(:ids AS uuid[])) OR t.by_fact = ANY(CAST(:ids AS uuid[])))
RETURNING t.fact

-- delete_moved_terms --
-- Delete from a survivor the terms that a merge gave it.
DELETE FROM entity_term t USING entity_merge_term m
WHERE m.tenant = :tenant AND m.entity = :entity AND NOT m.is_shared
  AND t.tenant = m.tenant AND t.entity = :survivor AND t.term_key = m.term_key AND t.scope = m.scope
  AND t.sensitivity = m.sensitivity

-- delete_slot_trims --
-- Delete the trims between facts of the given slots, and return the facts that they trimmed.
DELETE FROM fact_trim t
USING unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]), CAST(:slots AS bytea[]))
  AS asked(scope, sensitivity, slot)
JOIN record r ON r.tenant = :tenant AND r.scope = asked.scope AND r.sensitivity = asked.sensitivity
  AND r.slot_key = asked.slot AND r.type = 4
WHERE t.tenant = :tenant AND t.fact = r.id
RETURNING t.fact

-- fetch_merge_relations --
-- Fetch the relations that a merge ended or inserted.
SELECT m.relation, m.is_new, e.source, e.target, p.name, e.weight
FROM entity_merge_relation m
JOIN relation e ON e.tenant = m.tenant AND e.id = m.relation
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate
WHERE m.tenant = :tenant AND m.entity = :entity
ORDER BY m.relation

-- fetch_row_versions --
-- Fetch content and state of records at given row versions, from the records themselves or their history.
SELECT asked.id, asked.row_version, x.state, x.payload, x.provenance, x.sealed, x.occurred_at
FROM unnest(CAST(:ids AS uuid[]), CAST(:versions AS bigint[])) AS asked(id, row_version)
CROSS JOIN LATERAL (
  SELECT r.state, r.payload, r.provenance, r.sealed, r.occurred_at FROM record r
  WHERE r.tenant = :tenant AND r.id = asked.id AND r.row_version = asked.row_version
  UNION ALL
  SELECT h.state, h.payload, h.provenance, h.sealed, h.occurred_at FROM record_history h
  WHERE h.tenant = :tenant AND h.id = asked.id AND h.row_version = asked.row_version
) x

-- find_crossings --
-- Find disputes and supersessions, since a merge, between facts about the merged entity and others of their slots.
SELECT e.id, e.source, e.target, p.name, e.weight, own.id AS own
FROM entity_merge this
JOIN entity_merge_record m ON m.tenant = this.tenant AND m.entity = this.entity AND m.is_subject
JOIN record own ON own.tenant = m.tenant AND own.id = m.id
JOIN relation e ON e.tenant = m.tenant AND (e.source = m.id OR e.target = m.id) AND e.ended_at IS NULL
  AND e.created_at > this.merged_at
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name IN ('contested_by', 'supersedes')
JOIN record other ON other.tenant = e.tenant AND other.id = CASE WHEN e.source = m.id THEN e.target ELSE e.source END
  AND other.scope = own.scope AND other.sensitivity = own.sensitivity AND other.slot_key = own.slot_key
WHERE this.tenant = :tenant AND this.entity = :entity
  AND NOT EXISTS (SELECT FROM entity_merge_record x
    WHERE x.tenant = this.tenant AND x.entity = this.entity AND x.id = other.id AND x.is_subject)
ORDER BY e.id

-- find_displacements --
-- Find disputes and supersessions, since a merge, between facts that are not the merged entity's, in slots that it made
-- single-valued.
SELECT e.id, e.source, e.target, p.name
FROM entity_merge this
JOIN entity_merge_slot s ON s.tenant = this.tenant AND s.entity = this.entity
JOIN record target ON target.tenant = s.tenant AND target.scope = s.scope AND target.sensitivity = s.sensitivity
  AND target.slot_key = s.slot_key AND target.type = 4
JOIN relation e ON e.tenant = target.tenant AND e.target = target.id AND e.ended_at IS NULL
  AND e.created_at > this.merged_at
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name IN ('contested_by', 'supersedes')
JOIN record source ON source.tenant = e.tenant AND source.id = e.source AND source.scope = target.scope
  AND source.sensitivity = target.sensitivity AND source.slot_key = target.slot_key
WHERE this.tenant = :tenant AND this.entity = :entity
  AND NOT EXISTS (SELECT FROM entity_merge_record x
    WHERE x.tenant = this.tenant AND x.entity = this.entity AND x.id IN (source.id, target.id) AND x.is_subject)
ORDER BY e.id

-- find_ended_disputes --
-- Find the disputes from before a merge that ended since, when one of the given facts was superseded, and whose parties
-- are current. What superseded a fact may have been deleted.
SELECT d.source, d.target, d.weight
FROM entity_merge this
JOIN relation d ON d.tenant = this.tenant AND (d.source = ANY(CAST(:ids AS uuid[])) OR d.target = ANY(CAST(:ids AS uuid[])))
  AND d.created_at < this.merged_at AND d.ended_at > this.merged_at
JOIN predicate p ON p.tenant = d.tenant AND p.id = d.predicate AND p.name = 'contested_by'
JOIN record source ON source.tenant = d.tenant AND source.id = d.source AND source.state <= 2
JOIN record target ON target.tenant = d.tenant AND target.id = d.target AND target.state <= 2
WHERE this.tenant = :tenant AND this.entity = :entity
  AND (
    NOT EXISTS (SELECT FROM entity_merge_record m
      WHERE m.tenant = this.tenant AND m.entity = this.entity AND m.id IN (d.source, d.target) AND m.is_decided)
    OR EXISTS (SELECT FROM relation e JOIN predicate q ON q.tenant = e.tenant AND q.id = e.predicate
      WHERE e.tenant = d.tenant AND e.target IN (d.source, d.target) AND e.target = ANY(CAST(:ids AS uuid[]))
        AND e.created_at = d.ended_at AND q.name = 'supersedes')
  )
ORDER BY d.id

-- find_later_merges --
-- Find merges that were made later, are not undone, and changed a record or a relation that the given merge changed.
SELECT later.entity
FROM entity_merge this
JOIN entity_merge later ON later.tenant = this.tenant AND later.merged_at > this.merged_at
WHERE this.tenant = :tenant AND this.entity = :entity
  AND (later.survivor = this.survivor
    OR EXISTS (
      SELECT FROM entity_merge_record a JOIN entity_merge_record b ON b.tenant = a.tenant AND b.id = a.id
      WHERE a.tenant = this.tenant AND a.entity = this.entity AND b.entity = later.entity AND b.after <> b.before)
    OR EXISTS (
      SELECT FROM entity_merge_relation a JOIN entity_merge_relation b ON b.tenant = a.tenant AND b.relation = a.relation
      WHERE a.tenant = this.tenant AND a.entity = this.entity AND b.entity = later.entity))
ORDER BY later.merged_at DESC LIMIT 1

-- find_supersessions --
-- Find the open relations, since a merge, by which other records supersede the given facts.
SELECT e.id
FROM entity_merge this
JOIN relation e ON e.tenant = this.tenant AND e.target = ANY(CAST(:ids AS uuid[])) AND e.ended_at IS NULL
  AND e.created_at > this.merged_at
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'supersedes'
WHERE this.tenant = :tenant AND this.entity = :entity
ORDER BY e.id

-- keep_single_valued --
-- Let the slots stay single-valued when the merges that made them so are undone.
DELETE FROM entity_merge_slot m
USING unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]), CAST(:slots AS bytea[]))
  AS asked(scope, sensitivity, slot)
WHERE m.tenant = :tenant AND m.scope = asked.scope AND m.sensitivity = asked.sensitivity AND m.slot_key = asked.slot

-- keep_terms --
-- Remember the terms of an entity that is merged, and which of them its survivor has.
INSERT INTO entity_merge_term (tenant, entity, term_key, scope, sensitivity, kind, namespace_key, is_shared)
SELECT t.tenant, t.entity, t.term_key, t.scope, t.sensitivity, t.kind, t.namespace_key,
  EXISTS (SELECT FROM entity_term s WHERE s.tenant = t.tenant AND s.entity = :survivor AND s.term_key = t.term_key
    AND s.scope = t.scope AND s.sensitivity = t.sensitivity)
FROM entity_term t WHERE t.tenant = :tenant AND t.entity = :entity

-- move_terms --
-- Give a survivor the remembered terms of the entity merged into it; the entity's name becomes an alias.
INSERT INTO entity_term (tenant, term_key, entity, scope, sensitivity, kind, namespace_key)
SELECT m.tenant, m.term_key, :survivor, m.scope, m.sensitivity, CASE m.kind WHEN 2 THEN 3 ELSE m.kind END, m.namespace_key
FROM entity_merge_term m WHERE m.tenant = :tenant AND m.entity = :entity AND NOT m.is_shared
ON CONFLICT DO NOTHING

-- replace_merge_relation --
-- Let earlier merges refer to the relation that replaces one that they inserted.
UPDATE entity_merge_relation SET relation = :new WHERE tenant = :tenant AND relation = :old AND is_new

-- restore_terms --
-- Give an entity back its remembered terms. Identifiers that belong to another entity by now are skipped.
INSERT INTO entity_term (tenant, term_key, entity, scope, sensitivity, kind, namespace_key)
SELECT m.tenant, m.term_key, m.entity, m.scope, m.sensitivity, m.kind, m.namespace_key
FROM entity_merge_term m WHERE m.tenant = :tenant AND m.entity = :entity
ON CONFLICT DO NOTHING

-- row_versions --
-- Fetch the row versions and the salience of locked records.
SELECT r.id, r.row_version, s.s, s.t0, s.last_reinforced_at
FROM record r JOIN salience s ON s.tenant = r.tenant AND s.id = r.id
WHERE r.tenant = :tenant AND r.id = ANY(CAST(:ids AS uuid[]))
