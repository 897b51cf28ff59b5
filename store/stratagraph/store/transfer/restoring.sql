-- restore_slots --
-- Make the slots of facts to restore where they are missing, with the cardinality that they had.
INSERT INTO fact_slot (tenant, scope, sensitivity, slot_key, single_valued)
SELECT :tenant, w.scope, w.sensitivity, w.slot, w.single
FROM unnest(CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]), CAST(:slots AS bytea[]), CAST(:single AS boolean[]))
  AS w(scope, sensitivity, slot, single)
ON CONFLICT (tenant, scope, sensitivity, slot_key) DO NOTHING

-- restore_relations --
-- Insert relations as they were, but for those whose id or place is taken, and return the ids of those inserted.
-- Ends of which something is noted are held as they are until the transaction ends, so that it stays right.
WITH w AS (
  SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:sources AS uuid[]), CAST(:targets AS uuid[]), CAST(:predicates AS integer[]),
    CAST(:weights AS float8[]), CAST(:created AS timestamptz[]), CAST(:ended AS timestamptz[]))
    AS w(id, source, target, predicate, weight, created_at, ended_at)
), held AS (
  SELECT id, upper(validity) AS until, state > 2 AS is_past FROM record
  WHERE tenant = :tenant AND id = ANY(CAST(:ends AS uuid[])) AND (state > 2 OR upper(validity) IS NOT NULL)
  ORDER BY id FOR SHARE
)
INSERT INTO relation (tenant, id, source, target, predicate, weight, created_at, ended_at, row_version, source_acl,
  target_acl, source_until, target_until, source_past, target_past)
SELECT :tenant, w.id, w.source, w.target, w.predicate, w.weight, w.created_at, w.ended_at,
  CASE WHEN w.ended_at IS NULL THEN 1 ELSE 2 END, s.scope * 8 + s.sensitivity, d.scope * 8 + d.sensitivity,
  hs.until, hd.until, coalesce(hs.is_past, false), coalesce(hd.is_past, false)
FROM w
CROSS JOIN LATERAL (SELECT scope, sensitivity FROM record WHERE tenant = :tenant AND id = w.source LIMIT 1) s
CROSS JOIN LATERAL (SELECT scope, sensitivity FROM record WHERE tenant = :tenant AND id = w.target LIMIT 1) d
LEFT JOIN held hs ON hs.id = w.source LEFT JOIN held hd ON hd.id = w.target
ON CONFLICT DO NOTHING
RETURNING id, row_version

-- restore_episodes --
-- Insert the state of episodes whose records are stored, and return the ids of those inserted.
INSERT INTO episode (tenant, id, thread_key, scope, sensitivity, opened_at, closes_at, closed_at, outcome, events,
  learned_at, learned_stages, awaits_skill)
SELECT :tenant, w.id, w.thread, w.scope, w.sensitivity, w.opened_at, w.closes_at, w.closed_at, w.outcome, w.events,
  w.learned, CAST(w.stages AS text[]), w.awaits
FROM unnest(CAST(:ids AS uuid[]), CAST(:threads AS bytea[]), CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]),
  CAST(:opened AS timestamptz[]), CAST(:closes AS timestamptz[]), CAST(:closed AS timestamptz[]),
  CAST(:outcomes AS smallint[]), CAST(:events AS integer[]), CAST(:learned AS timestamptz[]), CAST(:stages AS text[]),
  CAST(:awaiting AS boolean[]))
  AS w(id, thread, scope, sensitivity, opened_at, closes_at, closed_at, outcome, events, learned, stages, awaits)
WHERE EXISTS (SELECT FROM record r WHERE r.tenant = :tenant AND r.id = w.id AND r.type = 1)
ON CONFLICT DO NOTHING
RETURNING id

-- restore_members --
-- Insert the members of episodes whose records are stored, and note the last one of each episode.
WITH inserted AS (
  INSERT INTO episode_event (tenant, episode, position, record, call_key)
  SELECT :tenant, w.episode, w.position, w.record, w.call
  FROM unnest(CAST(:episodes AS uuid[]), CAST(:positions AS integer[]), CAST(:records AS uuid[]), CAST(:calls AS bytea[]))
    AS w(episode, position, record, call)
  WHERE EXISTS (SELECT FROM record r WHERE r.tenant = :tenant AND r.id = w.record)
  ON CONFLICT DO NOTHING
  RETURNING episode, position, record
)
UPDATE episode e SET last_record = l.record
FROM (SELECT DISTINCT ON (episode) episode, record FROM inserted ORDER BY episode, position DESC) l
WHERE e.tenant = :tenant AND e.id = l.episode

-- restore_trims --
-- Insert trims of facts by facts that are stored; a fact that was changed since it was restored keeps its own.
INSERT INTO fact_trim (tenant, fact, by_fact, side, at)
SELECT :tenant, w.fact, w.by_fact, w.side, w.at
FROM unnest(CAST(:facts AS uuid[]), CAST(:changed AS timestamptz[]), CAST(:by_facts AS uuid[]), CAST(:sides AS smallint[]),
  CAST(:instants AS timestamptz[])) AS w(fact, changed_at, by_fact, side, at)
WHERE EXISTS (SELECT FROM record r WHERE r.tenant = :tenant AND r.id = w.fact AND r.type = 4 AND r.updated_at = w.changed_at)
  AND EXISTS (SELECT FROM fact f WHERE f.tenant = :tenant AND f.id = w.by_fact)
ON CONFLICT DO NOTHING

-- restore_tombstones --
-- Insert tombstones of records that are not stored here, and return the ids of those inserted.
INSERT INTO tombstone (tenant, id, type, scope, sensitivity, cause, at, entities, learned)
SELECT :tenant, w.id, w.type, w.scope, w.sensitivity, w.cause, w.at, CAST(w.entities AS uuid[]), CAST(w.learned AS uuid[])
FROM unnest(CAST(:ids AS uuid[]), CAST(:types AS smallint[]), CAST(:scopes AS integer[]), CAST(:sensitivities AS smallint[]),
  CAST(:causes AS smallint[]), CAST(:instants AS timestamptz[]), CAST(:entities AS text[]), CAST(:learned AS text[]))
  AS w(id, type, scope, sensitivity, cause, at, entities, learned)
WHERE NOT EXISTS (SELECT FROM record r WHERE r.tenant = :tenant AND r.id = w.id)
ON CONFLICT (tenant, id) DO NOTHING
RETURNING id

-- delete_tombstones --
-- Delete the tombstones of records that are to be restored.
DELETE FROM tombstone WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))

-- restore_artifact_references --
-- Insert references from records to artifacts that are stored.
INSERT INTO artifact_reference (tenant, sha256, record, media_type)
SELECT :tenant, w.sha256, w.record, w.media_type
FROM unnest(CAST(:hashes AS bytea[]), CAST(:records AS uuid[]), CAST(:media_types AS text[])) AS w(sha256, record, media_type)
WHERE EXISTS (SELECT FROM artifact a WHERE a.tenant = :tenant AND a.sha256 = w.sha256)
ON CONFLICT DO NOTHING

-- set_words --
-- Give records that were stored without terms theirs, and log the change for the statistics of words and for the index.
WITH changed AS (
  UPDATE record r SET terms = CAST(w.terms AS integer[]), impacts = CAST(w.impacts AS sparsevec)
  FROM unnest(CAST(:ids AS uuid[]), CAST(:terms AS text[]), CAST(:impacts AS text[])) AS w(id, terms, impacts)
  WHERE r.tenant = :tenant AND r.id = w.id
  RETURNING r.id, r.scope, r.sensitivity, r.terms
)
INSERT INTO word_change (tenant, record, scope, sensitivity, step, terms)
SELECT CAST(:tenant AS bigint), c.id, c.scope, c.sensitivity, n.step, n.terms
FROM changed c CROSS JOIN LATERAL (VALUES (-1, ARRAY[0]), (1, 0 || c.terms)) AS n(step, terms)
