-- compare_vectors --
-- Compare a vector with those of the given records that the caller may read in full.
SELECT id, similarity FROM compare_vectors(:model, :vector, CAST(:ids AS uuid[]))

-- count_lessons --
-- Count a retrieval of each of the given lessons, and whether it helped.
INSERT INTO lesson_use AS u (tenant, id, retrievals, helpful, retrieved_at)
SELECT CAST(:tenant AS bigint), one.id, 1, one.helpful, CAST(:at AS timestamptz)
FROM unnest(CAST(:ids AS uuid[]), CAST(:helpful AS integer[])) AS one(id, helpful) ORDER BY one.id
ON CONFLICT (tenant, id) DO UPDATE SET retrievals = u.retrievals + 1, helpful = u.helpful + excluded.helpful,
  retrieved_at = greatest(u.retrieved_at, excluded.retrieved_at)

-- credit_playbook --
-- Mark a playbook of one actor as helpful, and count each of its lessons, or of :only.
WITH due AS MATERIALIZED (
  SELECT id, nodes FROM retrieval WHERE tenant = :tenant AND id = :id AND actor = :actor AND is_playbook AND outcome IS NULL
), {credit_due}

-- credit_playbooks --
-- Mark the playbooks of one actor since :since as helpful, and count each lesson in them once.
WITH due AS MATERIALIZED (
  SELECT id, nodes FROM retrieval
  WHERE tenant = :tenant AND actor = :actor AND is_playbook AND outcome IS NULL AND at >= CAST(:since AS timestamptz)
), {credit_due}

-- credit_due --
-- Fragment: count the lessons of the playbooks `due`, or those of them in :only, and mark these playbooks.
-- A lesson that none of them counted as retrieved is counted so, too. The records are locked first, in id order, and then
-- the playbooks, as everywhere; those that another one marked meanwhile are left out.
held AS MATERIALIZED (
  SELECT r.id FROM record r
  WHERE r.tenant = :tenant AND r.id = ANY(ARRAY(SELECT unnest(due.nodes) FROM due)) AND r.state <= 2 AND r.lesson_key IS NOT NULL
    AND (CAST(:only AS uuid[]) IS NULL OR r.id = ANY(CAST(:only AS uuid[])))
    AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling
  ORDER BY r.id FOR KEY SHARE OF r
), opened AS MATERIALIZED (
  SELECT p.id, p.at, p.roots, p.nodes FROM retrieval p
  WHERE p.tenant = :tenant AND p.id = ANY(ARRAY(SELECT due.id FROM due)) AND p.outcome IS NULL AND (SELECT count(*) FROM held) >= 0
  ORDER BY p.id FOR UPDATE OF p
), counted AS MATERIALIZED (
  SELECT held.id, CASE WHEN bool_or(held.id = ANY(opened.roots)) THEN 0 ELSE 1 END AS more, max(opened.at) AS at
  FROM opened, unnest(opened.nodes) AS one(id) JOIN held ON held.id = one.id GROUP BY held.id
), credited AS (
  INSERT INTO lesson_use AS u (tenant, id, retrievals, helpful, retrieved_at)
  SELECT CAST(:tenant AS bigint), id, 1, 1, at FROM counted ORDER BY id
  ON CONFLICT (tenant, id) DO UPDATE SET helpful = u.helpful + 1,
    retrievals = u.retrievals + (SELECT counted.more FROM counted WHERE counted.id = u.id),
    retrieved_at = greatest(u.retrieved_at, excluded.retrieved_at)
  RETURNING u.id
), marked AS (
  UPDATE retrieval r SET outcome = 1, reported_at = :at, report_hash = ''::bytea, sequence = pg_current_xact_id(),
    credited = ARRAY(SELECT one.id FROM unnest(opened.nodes) AS one(id) JOIN held ON held.id = one.id), penalized = '{}'
  FROM opened WHERE r.tenant = :tenant AND r.id = opened.id
)
SELECT id FROM credited ORDER BY id

-- fetch_lesson_authors --
-- Fetch the identities of those who wrote the advice of lessons.
SELECT id, lesson_authors FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND lesson_authors IS NOT NULL

-- fetch_lesson_use --
-- Fetch how often lessons were retrieved, and helped, besides what their payloads say.
-- Prepared: each record is a look-up.
SELECT u.id, u.retrievals, u.helpful, u.retrieved_at FROM unnest((SELECT CAST(:ids AS uuid[]))) AS asked(id)
CROSS JOIN LATERAL (SELECT * FROM lesson_use u WHERE u.tenant = :tenant AND u.id = asked.id LIMIT 1) u

-- list_lessons --
-- List the current lessons of the given scopes, the last learned first.
SELECT found.id
FROM unnest(CAST(:scopes AS integer[])) AS asked(scope), unnest(CAST(:levels AS smallint[])) AS allowed(level)
CROSS JOIN LATERAL (
  SELECT r.id, r.occurred_at FROM record r
  WHERE r.tenant = :tenant AND r.scope = asked.scope AND r.sensitivity = allowed.level AND {is_listed_lesson}
  ORDER BY r.occurred_at DESC, r.id DESC LIMIT :limit
) found
ORDER BY found.occurred_at DESC, found.id DESC LIMIT :limit

-- list_lessons_in_all_scopes --
-- List the current lessons of the tenant, the last learned first.
SELECT found.id
FROM unnest(CAST(:levels AS smallint[])) AS allowed(level)
CROSS JOIN LATERAL (
  SELECT r.id, r.occurred_at FROM record r
  WHERE r.tenant = :tenant AND r.sensitivity = allowed.level AND {is_listed_lesson}
  ORDER BY r.occurred_at DESC, r.id DESC LIMIT :limit
) found
ORDER BY found.occurred_at DESC, found.id DESC LIMIT :limit

-- is_listed_lesson --
-- Fragment: whether a record (`r`) is a current lesson that was learned from :since on and has one of :terms.
r.lesson_key IS NOT NULL AND r.state <= 2
  AND (CAST(:since AS timestamptz) IS NULL OR r.occurred_at >= CAST(:since AS timestamptz))
  AND (cardinality(CAST(:terms AS integer[])) = 0 OR r.terms && CAST(:terms AS integer[]))

-- lock_lesson_groups --
-- Take advisory locks on groups of lessons, in the given order.
SELECT pg_advisory_xact_lock(asked.number) FROM unnest(CAST(:locks AS bigint[])) AS asked(number)

-- lock_lessons --
-- Lock the current lessons of groups, in id order, and fetch them with what was counted of them: the newest of each
-- group, at most :most.
SELECT r.id, r.scope, r.sensitivity, r.lesson_key, r.lesson_authors, r.occurred_at, r.updated_at, r.confidence, r.name, r.payload,
  r.provenance, r.sealed, coalesce(u.retrievals, 0) AS retrievals, coalesce(u.helpful, 0) AS helpful
FROM unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[])) AS asked(scope, sensitivity)
CROSS JOIN LATERAL (
  SELECT l.id FROM record l
  WHERE l.tenant = :tenant AND l.scope = asked.scope AND l.sensitivity = asked.sensitivity
    AND l.lesson_key IS NOT NULL AND l.state <= 2
  ORDER BY l.occurred_at DESC, l.id DESC LIMIT :most
) newest
JOIN record r ON r.tenant = :tenant AND r.id = newest.id AND r.lesson_key IS NOT NULL AND r.state <= 2
LEFT JOIN lesson_use u ON u.tenant = r.tenant AND u.id = r.id
ORDER BY r.id FOR UPDATE OF r
