-- list_by_created --
-- List records, the newest first. The rows that are walked over are entries of an index.
WITH walked AS MATERIALIZED (
  SELECT k.id, NULL::timestamptz AS at, {walked_columns} FROM listed_record k
  WHERE {is_seen} AND k.id >= CAST(:least_id AS uuid) AND k.id < CAST(:below_id AS uuid)
  ORDER BY k.id DESC LIMIT :walked
), looked AS MATERIALIZED ({looked}), ended AS MATERIALIZED (
  {ends}
  LEFT JOIN LATERAL (SELECT w.at, w.id FROM walked w WHERE NOT l.is_cut ORDER BY w.id LIMIT 1) w ON true
)
{listed}

-- list_by_created_ascending --
-- List records, the oldest first.
WITH walked AS MATERIALIZED (
  SELECT k.id, NULL::timestamptz AS at, {walked_columns} FROM listed_record k
  WHERE {is_seen} AND k.id > CAST(:above_id AS uuid) AND k.id < CAST(:below_id AS uuid)
  ORDER BY k.id LIMIT :walked
), looked AS MATERIALIZED ({looked}), ended AS MATERIALIZED (
  {ends}
  LEFT JOIN LATERAL (SELECT w.at, w.id FROM walked w WHERE NOT l.is_cut ORDER BY w.id DESC LIMIT 1) w ON true
)
{listed}

-- list_by_updated --
-- List records, the last changed first.
WITH walked AS MATERIALIZED (
  SELECT k.id, k.updated_at AS at, {walked_columns} FROM listed_record k
  WHERE {is_seen} AND k.updated_at >= CAST(:from_at AS timestamptz) AND k.updated_at < CAST(:before_at AS timestamptz)
    AND (k.updated_at, k.id) < (CAST(:after_at AS timestamptz), CAST(:below_id AS uuid))
  ORDER BY k.updated_at DESC, k.id DESC LIMIT :walked
), looked AS MATERIALIZED ({looked}), ended AS MATERIALIZED (
  {ends}
  LEFT JOIN LATERAL (SELECT w.at, w.id FROM walked w WHERE NOT l.is_cut ORDER BY w.at, w.id LIMIT 1) w ON true
)
{listed}

-- list_by_updated_ascending --
-- List records, the last changed last.
WITH walked AS MATERIALIZED (
  SELECT k.id, k.updated_at AS at, {walked_columns} FROM listed_record k
  WHERE {is_seen} AND k.updated_at >= CAST(:from_at AS timestamptz) AND k.updated_at < CAST(:before_at AS timestamptz)
    AND (k.updated_at, k.id) > (CAST(:after_at AS timestamptz), CAST(:above_id AS uuid))
  ORDER BY k.updated_at, k.id LIMIT :walked
), looked AS MATERIALIZED ({looked}), ended AS MATERIALIZED (
  {ends}
  LEFT JOIN LATERAL (SELECT w.at, w.id FROM walked w WHERE NOT l.is_cut ORDER BY w.at DESC, w.id DESC LIMIT 1) w ON true
)
{listed}

-- list_by_occurred --
-- List records, the last that happened first: of each group that the caller may read, as many as are walked over.
WITH walked AS MATERIALIZED (
  SELECT w.* FROM (
    SELECT w.* FROM {groups_of_all_scopes} CROSS JOIN LATERAL (
      SELECT {occurred_columns} FROM listed_record k WHERE {is_of_level} AND {occurred_between}
        AND (k.occurred_at, k.id) < (CAST(:after_at AS timestamptz), CAST(:below_id AS uuid))
      ORDER BY k.occurred_at DESC, k.id DESC LIMIT :walked) w
    UNION ALL
    SELECT w.* FROM {groups_of_scopes} CROSS JOIN LATERAL (
      SELECT {occurred_columns} FROM listed_record k WHERE {is_of_group} AND {occurred_between}
        AND (k.occurred_at, k.id) < (CAST(:after_at AS timestamptz), CAST(:below_id AS uuid))
      ORDER BY k.occurred_at DESC, k.id DESC LIMIT :walked) w
  ) w
  ORDER BY w.at DESC, w.id DESC LIMIT :walked
), looked AS MATERIALIZED ({looked}), ended AS MATERIALIZED (
  {ends}
  LEFT JOIN LATERAL (SELECT w.at, w.id FROM walked w WHERE NOT l.is_cut ORDER BY w.at, w.id LIMIT 1) w ON true
)
{listed}

-- list_by_occurred_ascending --
-- List records, the last that happened last.
WITH walked AS MATERIALIZED (
  SELECT w.* FROM (
    SELECT w.* FROM {groups_of_all_scopes} CROSS JOIN LATERAL (
      SELECT {occurred_columns} FROM listed_record k WHERE {is_of_level} AND {occurred_between}
        AND (k.occurred_at, k.id) > (CAST(:after_at AS timestamptz), CAST(:above_id AS uuid))
      ORDER BY k.occurred_at, k.id LIMIT :walked) w
    UNION ALL
    SELECT w.* FROM {groups_of_scopes} CROSS JOIN LATERAL (
      SELECT {occurred_columns} FROM listed_record k WHERE {is_of_group} AND {occurred_between}
        AND (k.occurred_at, k.id) > (CAST(:after_at AS timestamptz), CAST(:above_id AS uuid))
      ORDER BY k.occurred_at, k.id LIMIT :walked) w
  ) w
  ORDER BY w.at, w.id LIMIT :walked
), looked AS MATERIALIZED ({looked}), ended AS MATERIALIZED (
  {ends}
  LEFT JOIN LATERAL (SELECT w.at, w.id FROM walked w WHERE NOT l.is_cut ORDER BY w.at DESC, w.id DESC LIMIT 1) w ON true
)
{listed}

-- list_given --
-- List those of the given records that the caller may see and that fit the filter.
WITH looked AS MATERIALIZED (
  SELECT k.id, 0 AS place FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
  CROSS JOIN LATERAL (SELECT k.id FROM listed_record k WHERE {is_seen} AND k.id = asked.id LIMIT 1) k
), ended AS MATERIALIZED ({ends_whole})
{listed}

-- list_of_thread --
-- List the events, the episodes and the working state of a thread, at most :looked of them.
-- An episode has the scope and the sensitivity of its group, so that those of hidden groups are passed over.
WITH looked AS MATERIALIZED (
  SELECT DISTINCT f.id, 0 AS place FROM (
    SELECT r.id FROM record r
    WHERE r.tenant = :tenant AND r.handle_key = CAST(:handle AS bytea) AND r.type = 2
      AND (:lists_all OR r.scope = ANY(CAST(:listed_scopes AS integer[]))) AND r.sensitivity <= :ceiling
    UNION ALL
    SELECT m.id FROM episode e CROSS JOIN LATERAL (
      SELECT e.id
      UNION ALL
      (SELECT r.id FROM episode_event v CROSS JOIN LATERAL (
         SELECT r.id FROM record r WHERE r.tenant = :tenant AND r.id = v.record
           AND (:lists_all OR r.scope = ANY(CAST(:listed_scopes AS integer[]))) AND r.sensitivity <= :ceiling LIMIT 1) r
       WHERE v.tenant = :tenant AND v.episode = e.id)
    ) m
    WHERE e.tenant = :tenant AND e.thread_key = CAST(:thread AS bytea)
      AND (:lists_all OR e.scope = ANY(CAST(:listed_scopes AS integer[]))) AND e.sensitivity <= :ceiling
    LIMIT :looked
  ) f
), ended AS MATERIALIZED ({ends_whole})
{listed}

-- list_of_subject --
-- List the facts about some entities, or about a text that is no entity, at most :looked of them.
WITH looked AS MATERIALIZED (
  SELECT f.id, 0 AS place FROM (
    SELECT f.id FROM fact f
    WHERE f.tenant = :tenant AND f.subject_entity = ANY(CAST(:subject_entities AS uuid[]))
      AND (:lists_all OR f.scope = ANY(CAST(:listed_scopes AS integer[]))) AND f.sensitivity <= :ceiling
    UNION ALL
    SELECT f.id FROM fact f
    WHERE f.tenant = :tenant AND f.subject_key = ANY(CAST(:subject_keys AS bytea[]))
      AND (:lists_all OR f.scope = ANY(CAST(:listed_scopes AS integer[]))) AND f.sensitivity <= :ceiling
    LIMIT :looked
  ) f
), ended AS MATERIALIZED ({ends_whole})
{listed}

-- list_of_slot --
-- List the facts that held one slot in any state, at most :looked of them.
WITH looked AS MATERIALIZED (
  SELECT r.id, 0 AS place FROM record r
  WHERE r.tenant = :tenant AND r.scope = CAST(:slot_scope AS integer) AND r.sensitivity = CAST(:slot_level AS smallint)
    AND r.slot_key = CAST(:slot AS bytea) AND r.type = 4
    AND (:lists_all OR r.scope = ANY(CAST(:listed_scopes AS integer[]))) AND r.sensitivity <= :ceiling
  LIMIT :looked
), ended AS MATERIALIZED ({ends_whole})
{listed}

-- fetch_slot_of --
-- Fetch the slot of a fact that the caller may read in full.
SELECT r.scope, r.sensitivity, r.slot_key FROM record r
WHERE r.tenant = :tenant AND r.id = :id AND r.type = 4
  AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling

-- is_seen --
-- Fragment: whether the caller may see the record `k`; :level is the ceiling, or one above it for redacted records too.
k.tenant = :tenant AND (:lists_all OR k.scope = ANY(CAST(:listed_scopes AS integer[]))) AND k.sensitivity <= :level

-- walked_columns --
-- Fragment: what an index has of a record, and by which most records that do not fit are left out.
k.type, k.state

-- occurred_columns --
-- Fragment: what is walked over by when it happened.
k.id, k.occurred_at AS at, k.type, k.state

-- groups_of_all_scopes --
-- Fragment: the sensitivities that a caller with all scopes may see; none for any other caller.
(SELECT level FROM generate_series(0, CAST(:level AS integer)) AS p(level) WHERE :lists_all) p

-- groups_of_scopes --
-- Fragment: the scopes and sensitivities that a caller with some scopes may see; none for one with all.
(SELECT s.scope, l.level FROM unnest(CAST(:listed_scopes AS integer[])) AS s(scope),
   generate_series(0, CAST(:level AS integer)) AS l(level) WHERE NOT :lists_all) p

-- is_of_level --
-- Fragment: whether the record `k` is of the sensitivity `p`.
k.tenant = :tenant AND k.sensitivity = p.level

-- is_of_group --
-- Fragment: whether the record `k` is of the scope and sensitivity `p`.
k.tenant = :tenant AND k.scope = p.scope AND k.sensitivity = p.level

-- occurred_between --
-- Fragment: whether the record `k` happened within bounds.
k.occurred_at >= CAST(:from_at AS timestamptz) AND k.occurred_at < CAST(:before_at AS timestamptz)

-- looked --
-- Fragment: the records that were walked over and may fit the filter, in their order; no more are read than needed.
SELECT w.id, w.at, row_number() OVER () AS place FROM walked w
WHERE w.type = ANY(CAST(:types AS smallint[])) AND (CAST(:states AS smallint[]) IS NULL OR w.state = ANY(CAST(:states AS smallint[])))
LIMIT :looked

-- ends --
-- Fragment: whether the end of the list was reached, and the last records that were looked at and walked over.
SELECT l.looked, l.is_cut, l.at AS looked_at, l.id AS looked_id, w.at AS walked_at, w.id AS walked_id,
  CASE WHEN l.is_cut THEN false ELSE (SELECT count(*) FROM walked) < :walked END AS is_whole
FROM (
  SELECT n.looked, n.looked >= :looked AS is_cut, last.at, last.id
  FROM (SELECT count(*) AS looked FROM looked) n
  LEFT JOIN LATERAL (SELECT l.at, l.id FROM looked l ORDER BY l.place DESC LIMIT 1) last ON true
) l

-- ends_whole --
-- Fragment: whether all were looked at, for a list without an order.
SELECT count(*) < :looked AS is_whole FROM looked

-- listed --
-- Fragment: the records of `looked` that fit the filter, in its order, after the one row of `ended`.
-- `name` and `is_sealed` are read only where the filter looks at content, which is compared after a record was opened;
-- and the record itself (`r`) only with :reads, where the filter or the order asks for more than its head has.
SELECT e.*, m.* FROM ended e LEFT JOIN (
  SELECT h.id, h.occurred_at, h.updated_at, {salience} AS salience,
    CASE WHEN :names THEN r.name END AS name, r.sealed IS NOT NULL AS is_sealed
  FROM looked l
  CROSS JOIN LATERAL (SELECT * FROM record_head h WHERE h.tenant = :tenant AND h.id = l.id LIMIT 1) h
  LEFT JOIN LATERAL (
    SELECT * FROM record r
    WHERE :reads AND r.tenant = :tenant AND r.id = l.id AND r.sensitivity <= :ceiling LIMIT 1) r ON true
  WHERE {fits}
  ORDER BY l.place LIMIT CAST(:most AS bigint)
) m ON true

-- salience --
-- Fragment: the salience of the record `h` at :now.
salience_at(h.s, h.t0, h.created_at, h.curve, h.half_life_s, h.min_salience, h.max_age_s, h.params, h.pinned,
  CAST(:now AS timestamptz))

-- fits --
-- Fragment: whether the record `h`, with its content `r` if the caller may read it in full, fits the filter.
-- A sealed one fits by its content until it is opened. Where the filter asks for what a redacted record does not show,
-- only records that the caller may read in full are listed.
h.type = ANY(CAST(:types AS smallint[]))
  AND (:lists_all OR h.scope = ANY(CAST(:listed_scopes AS integer[]))) AND h.sensitivity <= :level
  AND (CAST(:states AS smallint[]) IS NULL OR r.state = ANY(CAST(:states AS smallint[])))
  AND (CAST(:given AS uuid[]) IS NULL OR h.id = ANY(CAST(:given AS uuid[])))
  AND (CAST(:any_tags AS text[]) IS NULL OR h.tags && CAST(:any_tags AS text[]))
  AND (CAST(:all_tags AS text[]) IS NULL OR h.tags @> CAST(:all_tags AS text[]))
  AND (CAST(:created_from AS timestamptz) IS NULL OR h.created_at >= CAST(:created_from AS timestamptz))
  AND (CAST(:created_before AS timestamptz) IS NULL OR h.created_at < CAST(:created_before AS timestamptz))
  AND (CAST(:updated_from AS timestamptz) IS NULL OR h.updated_at >= CAST(:updated_from AS timestamptz))
  AND (CAST(:updated_before AS timestamptz) IS NULL OR h.updated_at < CAST(:updated_before AS timestamptz))
  AND (CAST(:occurred_from AS timestamptz) IS NULL OR h.occurred_at >= CAST(:occurred_from AS timestamptz))
  AND (CAST(:occurred_before AS timestamptz) IS NULL OR h.occurred_at < CAST(:occurred_before AS timestamptz))
  AND (CAST(:least_confidence AS float8) IS NULL OR h.confidence >= CAST(:least_confidence AS float8))
  AND (CAST(:most_confidence AS float8) IS NULL OR h.confidence <= CAST(:most_confidence AS float8))
  AND (CAST(:least_salience AS float8) IS NULL OR {salience} >= CAST(:least_salience AS float8))
  AND (CAST(:most_salience AS float8) IS NULL OR {salience} <= CAST(:most_salience AS float8))
  AND (CAST(:source AS text) IS NULL OR r.sealed IS NOT NULL OR jsonb_path_exists(r.provenance,
    '$.sources[*] ? (@.ref == $source || @.created_by == $source)', jsonb_build_object('source', CAST(:source AS text))))
  AND (CAST(:thread AS bytea) IS NULL OR {is_of_thread})
  AND (CAST(:slot AS bytea) IS NULL OR r.type = 4 AND r.slot_key = CAST(:slot AS bytea)
    AND r.scope = CAST(:slot_scope AS integer) AND r.sensitivity = CAST(:slot_level AS smallint))
  AND (NOT :by_fact OR r.type = 4 AND EXISTS (
    SELECT FROM fact f WHERE f.tenant = :tenant AND f.id = r.id
      AND (CAST(:predicate AS bytea) IS NULL OR f.predicate_key = CAST(:predicate AS bytea))
      AND (NOT :by_subject OR f.subject_entity = ANY(CAST(:subject_entities AS uuid[]))
        OR f.subject_key = ANY(CAST(:subject_keys AS bytea[])))))
  AND (CAST(:valid_at AS timestamptz) IS NULL OR r.id IS NULL OR {held_at})

-- is_of_thread --
-- Fragment: whether the record `r` is an event, an episode or the working state of a thread.
(r.type = 2 AND r.handle_key = CAST(:handle AS bytea)
  OR EXISTS (SELECT FROM episode e WHERE e.tenant = :tenant AND e.id = r.id AND e.thread_key = CAST(:thread AS bytea))
  OR EXISTS (SELECT FROM episode_event v JOIN episode e ON e.tenant = v.tenant AND e.id = v.episode
    WHERE v.tenant = :tenant AND v.record = r.id AND e.thread_key = CAST(:thread AS bytea)))
