-- The word index: segments of records with blocks of postings, written by the job that counts words

-- Changes name their record, so that the job can index it. Those that are waiting name none, and every record is logged
-- to be indexed; the job does this in batches, while the store answers.

LOCK TABLE record IN SHARE ROW EXCLUSIVE MODE;

ALTER TABLE word_change ADD COLUMN record UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';

ALTER TABLE word_change ALTER COLUMN record DROP DEFAULT;

ALTER TABLE word_change DROP CONSTRAINT word_change_step_ck;

ALTER TABLE word_change ADD CONSTRAINT word_change_step_ck CHECK (step BETWEEN -1 AND 1);

COMMENT ON COLUMN word_change.step IS '1: a record with these terms was written; -1: it was deleted or has other terms now; 0: not counted';

INSERT INTO word_change (tenant, record, scope, sensitivity, step, terms)
SELECT tenant, id, scope, sensitivity, 0, '{}' FROM record ORDER BY tenant, id;

CREATE TABLE word_segment (
	tenant BIGINT NOT NULL,
	id BIGINT DEFAULT (random() * 9007199254740992)::bigint NOT NULL,
	records INTEGER NOT NULL,
	buckets INTEGER NOT NULL,
	version INTEGER DEFAULT 0 NOT NULL,
	removed INTEGER[] DEFAULT '{}' NOT NULL,
	purge_at TIMESTAMP WITH TIME ZONE,
	first_id UUID NOT NULL,
	last_id UUID NOT NULL,
	groups BYTEA NOT NULL,
	ids BYTEA NOT NULL,
	bounded BYTEA NOT NULL,
	CONSTRAINT word_segment_pk PRIMARY KEY (tenant, id)
);

COMMENT ON COLUMN word_segment.id IS 'random, so that none is used again after a restore';

COMMENT ON COLUMN word_segment.version IS 'a new random number with `removed`';

COMMENT ON COLUMN word_segment.removed IS 'positions of former records';

COMMENT ON COLUMN word_segment.purge_at IS 'when the segment is to be written again without the removed records';

COMMENT ON COLUMN word_segment.bounded IS 'positions of facts with a validity, and its bounds';

CREATE INDEX word_segment_purge_ix ON word_segment (purge_at) WHERE purge_at IS NOT NULL;

CREATE TABLE word_block (
	tenant BIGINT NOT NULL,
	segment BIGINT NOT NULL,
	bucket INTEGER NOT NULL,
	postings BYTEA NOT NULL,
	CONSTRAINT word_block_pk PRIMARY KEY (tenant, segment, bucket)
);

COMMENT ON COLUMN word_block.bucket IS 'the terms whose number modulo the segment''s buckets is this';

-- Numbers hardly compress. Most blocks stay in their row, so that a search reads one page for each.

ALTER TABLE word_segment ALTER groups SET STORAGE EXTERNAL, ALTER ids SET STORAGE EXTERNAL, ALTER bounded SET STORAGE EXTERNAL;

ALTER TABLE word_block ALTER postings SET STORAGE EXTERNAL;

ALTER TABLE word_block SET (toast_tuple_target = 8160);

-- A policy cannot hide a part of a row, and a block has records of all scopes and levels. So no caller reads the rows:
-- the functions below return them to the application, which masks them, and which row-level security keeps from reading
-- any hidden record that it might find.

ALTER TABLE word_segment ENABLE ROW LEVEL SECURITY;

ALTER TABLE word_block ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON word_change, word_segment, word_block TO {search};

GRANT SELECT, INSERT, UPDATE, DELETE ON word_segment, word_block TO {feed};

GRANT SELECT, DELETE ON word_segment, word_block TO {erase};

CREATE POLICY search ON word_change FOR SELECT TO {search} USING (tenant = caller_tenant());

CREATE POLICY search ON word_segment FOR SELECT TO {search} USING (tenant = caller_tenant());

CREATE POLICY search ON word_block FOR SELECT TO {search} USING (tenant = caller_tenant());

CREATE POLICY work ON word_segment TO {feed}, {erase} USING (true);

CREATE POLICY work ON word_block TO {feed}, {erase} USING (true);

-- The segments of the caller's tenant, and the records that have changed since they were written: null if these are more
-- than `most` changes.

CREATE FUNCTION read_word_index(most integer)
RETURNS TABLE (segments bigint[], versions integer[], buckets integer[], changed uuid[])
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1 SET search_path = {search_path} AS $function$
BEGIN
  SELECT coalesce(array_agg(s.id), '{}'), coalesce(array_agg(s.version), '{}'), coalesce(array_agg(s.buckets), '{}')
  INTO segments, versions, buckets
  FROM word_segment s WHERE s.tenant = caller_tenant();
  changed := ARRAY(SELECT w.record FROM word_change w WHERE w.tenant = caller_tenant() LIMIT most + 1);
  IF cardinality(changed) > most THEN
    changed := NULL;
  END IF;
  RETURN NEXT;
END $function$;

-- Heads of segments; of those that are not in `whole`, only what may have changed.

CREATE FUNCTION fetch_word_segments(segments bigint[], whole bigint[])
RETURNS TABLE (
  id bigint, version integer, removed integer[], records integer, buckets integer, groups bytea, ids bytea, bounded bytea
)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT s.id, s.version, s.removed, s.records, s.buckets,
      CASE WHEN s.id = ANY (whole) THEN s.groups END, CASE WHEN s.id = ANY (whole) THEN s.ids END,
      CASE WHEN s.id = ANY (whole) THEN s.bounded END
    FROM word_segment s WHERE s.tenant = caller_tenant() AND s.id = ANY (segments);
END $function$;

CREATE FUNCTION fetch_word_blocks(segments bigint[], buckets integer[])
RETURNS TABLE (segment bigint, bucket integer, postings bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100 SET search_path = {search_path} AS $function$
BEGIN
  RETURN QUERY
    SELECT b.segment, b.bucket, b.postings FROM unnest(segments, buckets) AS asked(segment, bucket)
    CROSS JOIN LATERAL (
      SELECT * FROM word_block b
      WHERE b.tenant = caller_tenant() AND b.segment = asked.segment AND b.bucket = asked.bucket LIMIT 1
    ) b;
END $function$;

REVOKE ALL ON FUNCTION read_word_index, fetch_word_segments, fetch_word_blocks FROM PUBLIC;

GRANT EXECUTE ON FUNCTION read_word_index, fetch_word_segments, fetch_word_blocks TO {read};

GRANT CREATE ON SCHEMA {schema} TO {search};

ALTER FUNCTION read_word_index OWNER TO {search};

ALTER FUNCTION fetch_word_segments OWNER TO {search};

ALTER FUNCTION fetch_word_blocks OWNER TO {search};

REVOKE CREATE ON SCHEMA {schema} FROM {search};
