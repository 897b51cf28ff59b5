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
  SELECT 'artifacts', sealed FROM artifact WHERE tenant = :tenant AND sealed IS NOT NULL
) q
GROUP BY kind, mark

-- find_entities --
-- Find current entities with one of the given names or aliases that the caller may read in full.
SELECT t.entity, t.term_key
FROM entity_term t JOIN record r ON r.tenant = t.tenant AND r.id = t.entity
WHERE t.tenant = :tenant AND t.term_key = ANY(CAST(:keys AS bytea[])) AND t.kind IN (2, 3)
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
  AND r.state IN (1, 2)
ORDER BY t.claimed DESC, t.entity
LIMIT :limit

-- find_references --
-- Find records that the caller may read in full by id, and by the keyed hash of a ref, newest first.
SELECT id, scope, sensitivity, NULL::bytea AS handle_key, created_at FROM record
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
  AND (:all_scopes OR scope = ANY(CAST(:scopes AS integer[]))) AND sensitivity <= :ceiling
UNION ALL
SELECT id, scope, sensitivity, handle_key, created_at FROM record
WHERE tenant = :tenant AND handle_key = ANY(CAST(:keys AS bytea[]))
  AND (:all_scopes OR scope = ANY(CAST(:scopes AS integer[]))) AND sensitivity <= :ceiling
ORDER BY created_at DESC, id DESC

-- lock_entity_terms --
-- Lock the terms of the given entities, in the order in which terms are claimed.
SELECT term_key, entity, scope, sensitivity, kind, claimed FROM entity_term
WHERE tenant = :tenant AND entity = ANY(CAST(:entities AS uuid[]))
ORDER BY scope, sensitivity, term_key FOR UPDATE
