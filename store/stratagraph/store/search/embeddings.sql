-- advance_filling --
-- Move the position up to which existing records were looked at for the model :id, which looked at :looked_at more.
UPDATE embedding_model SET after_tenant = :after_tenant, after_id = :after_id, looked_at = looked_at + :looked_at
WHERE id = :id

-- begin_filling --
-- Look at all records again for the model :id.
UPDATE embedding_model SET state = 1, nonce = NULL, after_tenant = NULL, after_id = NULL, looked_at = 0,
  records = (SELECT count(*) FROM record)
WHERE id = :id

-- count_unembedded --
-- Count the records that need a vector of the model :model, up to 10,000, where each is one of three kinds: with
-- :is_filling, those after the position of the filling; those with a change that the consumer has not read; those given.
-- A record with many unread changes is looked at for each of the first 20,000.
WITH {feed_position}, changed AS (
  SELECT tenant, id FROM (
    SELECT l.tenant, l.id FROM sync_log l, applied
    WHERE l.kind = 1 AND l.op <> 'D' AND l.shard = ANY(CAST(:shards AS smallint[]))
      AND (l.xid >= pg_snapshot_xmax(snap) OR l.xid = ANY (ARRAY(SELECT pg_snapshot_xip(snap))))
      AND EXISTS (SELECT FROM record r WHERE r.tenant = l.tenant AND r.id = l.id AND {needs_vector})
    LIMIT 20000) unread
  UNION
  SELECT given.tenant, given.id FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS given(tenant, id)
  JOIN record r ON r.tenant = given.tenant AND r.id = given.id WHERE {needs_vector}
)
SELECT least(10000, (
  SELECT count(*) FROM (
    SELECT FROM record r WHERE CAST(:is_filling AS boolean) AND {needs_vector}
      AND (CAST(:after_tenant AS bigint) IS NULL OR (r.tenant, r.id) < (CAST(:after_tenant AS bigint), CAST(:after_id AS uuid)))
    LIMIT 10000) existing
) + (
  SELECT count(*) FROM changed c WHERE NOT CAST(:is_filling AS boolean)
    OR (c.tenant, c.id) >= (CAST(:after_tenant AS bigint), CAST(:after_id AS uuid))
)) AS waiting

-- delete_embeddings --
-- Delete at most :limit vectors of the model :id.
DELETE FROM embedding WHERE (tenant, id, model) IN (SELECT tenant, id, model FROM embedding WHERE model = :id LIMIT :limit)

-- delete_embedding_model --
-- Delete a model that has no vectors left.
DELETE FROM embedding_model WHERE id = :id

-- empty_embedding_model --
-- Mark a model whose vectors are about to be deleted, so that it does not answer any more.
UPDATE embedding_model SET filled_at = NULL WHERE id = :id AND filled_at IS NOT NULL

-- fetch_records_to_embed --
-- Fetch those of the given records that need a vector of the model :model: current, plain, and below the level :below.
-- The newest come first.
SELECT r.tenant, r.id, r.updated_at, r.name, r.text
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS asked(tenant, id)
JOIN record r ON r.tenant = asked.tenant AND r.id = asked.id
WHERE {needs_vector}
ORDER BY r.id DESC

-- finish_filling --
-- Note that all existing records have been looked at.
UPDATE embedding_model SET state = 2, looked_at = records, filled_at = coalesce(filled_at, clock_timestamp()) WHERE id = :id

-- insert_embedding_model --
-- Insert a model that is about to be filled, unless it is there.
INSERT INTO embedding_model (name, dimensions, state, records, looked_at)
SELECT :name, :dimensions, 1, (SELECT count(*) FROM record), 0
ON CONFLICT (name, dimensions) DO NOTHING

-- insert_embeddings --
-- Store vectors of records that are as they were when their texts were read: neither edited nor sealed since.
-- The lock keeps the record from being edited before these vectors can be deleted by that edit.
WITH unchanged AS MATERIALIZED (
  SELECT r.tenant, r.id, made.vector
  FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[]), CAST(:instants AS timestamptz[]), CAST(:vectors AS text[]))
    AS made(tenant, id, at, vector)
  JOIN record r ON r.tenant = made.tenant AND r.id = made.id
  WHERE r.updated_at = made.at AND r.sealed IS NULL AND r.sensitivity < :below
  ORDER BY r.tenant, r.id FOR SHARE OF r
)
INSERT INTO embedding (tenant, id, model, vector)
SELECT tenant, id, :model, CAST(vector AS halfvec) FROM unchanged
ON CONFLICT (tenant, id, model) DO NOTHING

-- leave_embedding_models --
-- Note that only the model :id is kept up to date from now on.
UPDATE embedding_model SET state = 3 WHERE id <> :id AND state <> 3

-- list_embedding_models --
-- List the models that have vectors, the oldest first.
SELECT id, name, dimensions, state, nonce, after_tenant, after_id, records, looked_at, filled_at
FROM embedding_model ORDER BY id

-- list_older_records --
-- List the keys of the next records to look at for a model, each tenant's newest first: keys begin with the time.
SELECT tenant, id FROM record
WHERE CAST(:after_tenant AS bigint) IS NULL OR (tenant, id) < (CAST(:after_tenant AS bigint), CAST(:after_id AS uuid))
ORDER BY tenant DESC, id DESC LIMIT :limit

-- needs_vector --
-- Fragment: whether the record `r` needs a vector of the model :model; of null, which has none yet, whether of any.
r.sealed IS NULL AND r.sensitivity < :below AND r.state <= 2 AND r.type = ANY (CAST(:types AS smallint[]))
  AND NOT EXISTS (
    SELECT FROM embedding e WHERE e.tenant = r.tenant AND e.id = r.id AND e.model = CAST(:model AS integer))

-- note_followed --
-- Note the snapshot up to which the change log was followed for the model :id.
UPDATE embedding_model SET nonce = :nonce WHERE id = :id

-- search_vectors_by_index --
-- Find the records nearest to a vector by the model's index, or by comparing all where that costs less.
SELECT id, similarity
FROM search_vectors_by_index(
  :model, :dimensions, :question, CAST(:types AS smallint[]), CAST(:now AS timestamptz), :lowest, :limit, :documents)

-- search_vectors_exactly --
-- Find the records nearest to a vector among all vectors that the caller may read.
SELECT id, similarity
FROM search_vectors_exactly(:model, :dimensions, :question, CAST(:types AS smallint[]), CAST(:now AS timestamptz), :lowest, :limit)
