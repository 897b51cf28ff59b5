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
