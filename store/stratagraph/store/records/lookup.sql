-- count_sealed --
-- Count the rows that each data key of a tenant seals, in all tables within one snapshot.
-- The four bytes of the key's id follow the byte of the format.
SELECT kind, substring(sealed FROM 2 FOR 4) AS mark, count(*) AS sealed FROM (
  SELECT 'records' AS kind, sealed FROM record WHERE tenant = :tenant AND sealed IS NOT NULL
  UNION ALL
  SELECT 'history', sealed FROM record_history WHERE tenant = :tenant AND sealed IS NOT NULL
  UNION ALL
  SELECT 'notes', sealed FROM audit_note WHERE tenant = :tenant AND sealed IS NOT NULL
  UNION ALL
  SELECT 'candidates', sealed FROM candidate WHERE tenant = :tenant AND sealed IS NOT NULL
  UNION ALL
  SELECT 'spans', sealed FROM received_span WHERE tenant = :tenant AND sealed IS NOT NULL
  UNION ALL
  SELECT 'artifacts', sealed FROM artifact WHERE tenant = :tenant AND sealed IS NOT NULL
) q
GROUP BY kind, mark

-- delete_entity_terms --
-- Delete all terms of the given entities.
DELETE FROM entity_term WHERE tenant = :tenant AND entity = ANY(CAST(:entities AS uuid[]))

-- delete_link_requests --
-- Delete the queued link requests of the given entities.
DELETE FROM link_request WHERE tenant = :tenant AND entity = ANY(CAST(:entities AS uuid[]))

-- delete_own_terms --
-- Delete the terms that an entity has at one scope and sensitivity.
DELETE FROM entity_term
WHERE tenant = :tenant AND entity = :entity AND scope = :scope AND sensitivity = :sensitivity

-- find_entities --
-- Find current entities with one of the given names or aliases that the caller may read in full.
-- Prepared: keys only, found by an index.
SELECT t.entity, (array_agg(t.term_key ORDER BY t.kind, t.term_key))[1] AS term_key
FROM entity_term t JOIN record r ON r.tenant = t.tenant AND r.id = t.entity
WHERE t.tenant = :tenant AND t.term_key = ANY(CAST(:keys AS bytea[])) AND t.kind IN (2, 3)
  AND (:all_scopes OR (r.scope = ANY(CAST(:scopes AS integer[])) AND t.scope = ANY(CAST(:scopes AS integer[]))))
  AND greatest(r.sensitivity, t.sensitivity) <= :ceiling AND r.state IN (1, 2)
GROUP BY t.entity
ORDER BY min(t.kind), t.entity
LIMIT :limit

-- find_named_entities --
-- Find the current entities with one of the given names or identifiers, with all their terms.
-- :keys and :sensitivities are parallel arrays: entities and terms above the sensitivity of a mention are not counted.
-- Prepared: keys only, found by indexes.
WITH named AS (
  SELECT DISTINCT t.entity
  FROM unnest((SELECT CAST(:keys AS bytea[])), (SELECT CAST(:sensitivities AS smallint[]))) AS asked(key, sensitivity)
  CROSS JOIN LATERAL (
    SELECT t.entity FROM entity_term t JOIN record r ON r.tenant = t.tenant AND r.id = t.entity AND r.state <= 2
    WHERE t.tenant = :tenant AND t.term_key = asked.key AND t.kind <= 3 AND t.scope = ANY(CAST((SELECT CAST(:scopes AS integer[])) AS integer[]))
      AND r.scope = ANY(CAST((SELECT CAST(:scopes AS integer[])) AS integer[])) AND greatest(t.sensitivity, r.sensitivity) <= asked.sensitivity
    ORDER BY t.entity LIMIT :most
  ) t
)
SELECT t.entity, t.term_key, t.kind, t.namespace_key, t.scope, t.sensitivity, r.scope AS entity_scope,
  r.sensitivity AS entity_sensitivity
FROM named n
JOIN record r ON r.tenant = :tenant AND r.id = n.entity AND r.state <= 2
JOIN entity_term t ON t.tenant = :tenant AND t.entity = n.entity
ORDER BY t.entity, t.term_key, t.scope, t.sensitivity

-- find_taken_identifiers --
-- Find those of the given identifiers that belong to another entity of the same scope and sensitivity.
SELECT term_key FROM entity_term
WHERE tenant = :tenant AND term_key = ANY(CAST(:keys AS bytea[])) AND kind = 1 AND scope = :scope
  AND sensitivity = :sensitivity AND entity <> :entity

-- find_records_with_terms --
-- Find current records, other than entities, that have all terms of a list, by scope and sensitivity, newest first, for
-- each of several lists. Records that refer to its entity are left out, but not facts: they may name it twice.
SELECT w.number, f.scope, f.sensitivity, f.ids
FROM unnest(
  CAST(:numbers AS integer[]), CAST(:terms AS text[]), CAST(:scopes AS integer[]),
  CAST(:least_sensitivities AS smallint[]), CAST(:entities AS uuid[])
) AS w(number, terms, scope, least_sensitivity, entity)
CROSS JOIN LATERAL (
  WITH found AS MATERIALIZED (
    SELECT id, scope, sensitivity, type, state FROM record
    WHERE terms @> CAST(w.terms AS integer[]) AND tenant = :tenant
  ), numbered AS (
    SELECT r.id, r.scope, r.sensitivity,
      row_number() OVER (PARTITION BY r.scope, r.sensitivity ORDER BY r.id DESC) AS place
    FROM found r
    WHERE r.type <> 3 AND r.state <= 2 AND (w.scope IS NULL OR r.scope = w.scope)
      AND r.sensitivity >= w.least_sensitivity
      AND (r.type = 4 OR NOT EXISTS (
        SELECT FROM relation e
        WHERE e.tenant = :tenant AND e.source = r.id AND e.target = w.entity AND e.ended_at IS NULL
      ))
  )
  SELECT n.scope, n.sensitivity, array_agg(n.id ORDER BY n.id DESC) AS ids FROM numbered n WHERE n.place <= :most
  GROUP BY n.scope, n.sensitivity
) f
ORDER BY w.number, f.scope, f.sensitivity

-- find_references --
-- Find records that the caller may read in full by id, and by the keyed hash of a ref, newest first.
-- Prepared: keys only, found by indexes.
SELECT id, scope, sensitivity, NULL::bytea AS handle_key, created_at FROM record
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
  AND (:all_scopes OR scope = ANY(CAST(:scopes AS integer[]))) AND sensitivity <= :ceiling
UNION ALL
SELECT id, scope, sensitivity, handle_key, created_at FROM record
WHERE tenant = :tenant AND handle_key = ANY(CAST(:keys AS bytea[]))
  AND (:all_scopes OR scope = ANY(CAST(:scopes AS integer[]))) AND sensitivity <= :ceiling
ORDER BY created_at DESC, id DESC

-- find_used_keys --
-- Find the idempotency keys with the given hashes that an actor has used, with the results of their captures.
-- Prepared: keys only, found by indexes.
SELECT k.key_hash, k.request_hash, c.id, c.record, c.created_records, c.edges, c.sequence::text AS sequence
FROM idempotency k JOIN candidate c ON c.tenant = k.tenant AND c.id = k.candidate
WHERE k.tenant = :tenant AND k.actor = :actor AND k.key_hash = ANY(CAST(:hashes AS bytea[]))

-- hold_entities --
-- Lock current entities against being merged, withdrawn or deleted, in id order.
-- Prepared: keys only, found by indexes.
SELECT id FROM record WHERE tenant = :tenant AND id = ANY(CAST((SELECT CAST(:ids AS uuid[])) AS uuid[])) AND state <= 2
ORDER BY id FOR KEY SHARE

-- lock_entity_terms --
-- Lock the terms of the given entities, in the order in which terms are written.
SELECT term_key, entity, scope, sensitivity, kind FROM entity_term
WHERE tenant = :tenant AND entity = ANY(CAST(:entities AS uuid[]))
ORDER BY scope, sensitivity, term_key, entity FOR UPDATE

-- count_link_requests --
-- Count queued link requests that are due, up to :most.
SELECT count(*) AS n FROM (SELECT FROM link_request WHERE next_try_at <= :now LIMIT :most) l

-- lock_link_requests --
-- Lock queued link requests that are due, skipping those that another worker holds.
SELECT tenant, entity FROM link_request
WHERE next_try_at <= :now ORDER BY next_try_at, entity LIMIT :limit FOR UPDATE SKIP LOCKED

-- lock_names --
-- Take advisory locks until the end of the transaction, in the given order.
-- Prepared: it reads no table.
SELECT pg_advisory_xact_lock(asked.number) FROM unnest(CAST(:locks AS bigint[])) AS asked(number)

-- lock_taught_entities --
-- Lock current entities that captures teach, in id order; writers that only name them need not wait.
-- Prepared: keys only, found by indexes.
SELECT id FROM record WHERE tenant = :tenant AND id = ANY(CAST((SELECT CAST(:ids AS uuid[])) AS uuid[])) AND state <= 2
ORDER BY id FOR NO KEY UPDATE

-- lock_working --
-- Lock the current working records with the given handle keys, with their salience.
SELECT r.id, r.scope, r.sensitivity, r.handle_key, r.updated_at, r.payload, r.sealed, r.state, r.created_at, s.s, s.t0,
  s.curve, s.half_life_s, s.min_salience, s.max_age_s, s.reinforcement_gain, s.params, s.pinned, s.deletion_policy,
  s.last_reinforced_at
FROM record r JOIN salience s ON s.tenant = r.tenant AND s.id = r.id
WHERE r.tenant = :tenant AND r.handle_key = ANY(CAST(:keys AS bytea[])) AND r.type = 2 AND r.state = 1
ORDER BY r.handle_key, r.id FOR UPDATE

-- postpone_link_request --
-- Set the time of the next attempt of a link request.
UPDATE link_request SET next_try_at = :next_try_at WHERE tenant = :tenant AND entity = :entity
