-- Which database the log and its ticks belong to. Empty until the first tick, so that a template's copy adopts it.

CREATE TABLE sync_feed (
	one BOOLEAN DEFAULT true NOT NULL,
	incarnation TEXT,
	CONSTRAINT sync_feed_pk PRIMARY KEY (one),
	CONSTRAINT sync_feed_one_ck CHECK (one)
);

COMMENT ON COLUMN sync_feed.incarnation IS 'system identifier, timeline, database oid';

INSERT INTO sync_feed DEFAULT VALUES;

-- Cursors: one of the mirror reads one shard now; whoever reads everything afresh need not hold up the log for ever.

ALTER TABLE sync_cursor DROP COLUMN fails;

ALTER TABLE sync_cursor ADD COLUMN rereads BOOLEAN DEFAULT false NOT NULL;

COMMENT ON COLUMN sync_cursor.rereads IS 'may be forgotten: its consumer would read everything afresh';

COMMENT ON COLUMN sync_cursor.shard IS 'the first of the shards that this cursor reads';

UPDATE sync_cursor SET rereads = true WHERE consumer = 'neo4j';

INSERT INTO sync_cursor (consumer, shard, tick, rereads)
SELECT consumer, s.shard, tick, rereads FROM sync_cursor, generate_series(1, 15) AS s(shard) WHERE consumer = 'neo4j';

-- Who works on a consumer's cursors, so that they share them

CREATE TABLE sync_worker (
	consumer TEXT NOT NULL,
	owner TEXT NOT NULL,
	alive_until TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT sync_worker_pk PRIMARY KEY (consumer, owner)
);

-- One of them keeps a mirror: begins generations, checks, repairs

CREATE TABLE mirror_keeper (
	mirror TEXT NOT NULL,
	owner TEXT,
	epoch BIGINT DEFAULT 0 NOT NULL,
	lease_until TIMESTAMP WITH TIME ZONE DEFAULT '-infinity' NOT NULL,
	checked_kind SMALLINT DEFAULT 1 NOT NULL,
	checked_tenant BIGINT DEFAULT 0 NOT NULL,
	checked_id UUID,
	check_began_at TIMESTAMP WITH TIME ZONE,
	drift JSONB DEFAULT '{}' NOT NULL,
	last_checked_at TIMESTAMP WITH TIME ZONE,
	last_drift JSONB,
	CONSTRAINT mirror_keeper_pk PRIMARY KEY (mirror)
);

COMMENT ON COLUMN mirror_keeper.checked_id IS 'up to where the round of checks has come';

COMMENT ON COLUMN mirror_keeper.drift IS 'differences found in this round, by class';

COMMENT ON COLUMN mirror_keeper.last_drift IS 'differences found in the last whole round, by class';

-- A generation may be one tenant's. `refreshing`: what the mirror holds stays right meanwhile; `building`: it is not.

ALTER TABLE mirror_generation ADD COLUMN tenant BIGINT;

ALTER TABLE mirror_generation ADD COLUMN reason TEXT DEFAULT '' NOT NULL;

ALTER TABLE mirror_generation ADD COLUMN done BIGINT DEFAULT 0 NOT NULL;

ALTER TABLE mirror_generation ADD COLUMN total BIGINT;

COMMENT ON COLUMN mirror_generation.tenant IS 'whose rows are written afresh; null for all';

COMMENT ON COLUMN mirror_generation.done IS 'rows written';

COMMENT ON COLUMN mirror_generation.total IS 'rows there were, about, when it began';

ALTER TABLE mirror_generation DROP CONSTRAINT mirror_generation_state_ck;

ALTER TABLE mirror_generation ADD CONSTRAINT mirror_generation_state_ck
  CHECK (state IN ('building', 'refreshing', 'active', 'retired'));

-- Who may do what

ALTER TABLE sync_feed ENABLE ROW LEVEL SECURITY;

ALTER TABLE sync_worker ENABLE ROW LEVEL SECURITY;

ALTER TABLE mirror_keeper ENABLE ROW LEVEL SECURITY;

GRANT SELECT, UPDATE ON sync_feed TO {feed}, {maintenance};

GRANT SELECT, INSERT, UPDATE, DELETE ON sync_worker TO {feed};

GRANT SELECT, INSERT, UPDATE ON mirror_keeper TO {feed};

GRANT SELECT, INSERT, DELETE ON sync_tick TO {maintenance};

GRANT SELECT, UPDATE, DELETE ON sync_cursor TO {maintenance};

GRANT SELECT, DELETE ON sync_worker TO {maintenance};

GRANT SELECT, UPDATE ON mirror_keeper TO {maintenance};

-- The log belongs to maintenance, whoever owns the rest

SET LOCAL ROLE {maintenance};

GRANT INSERT ON sync_log TO {feed};

RESET ROLE;

CREATE POLICY work ON sync_feed TO {feed}, {maintenance} USING (true);

CREATE POLICY work ON sync_worker TO {feed}, {maintenance} USING (true);

CREATE POLICY work ON mirror_keeper TO {feed}, {maintenance} USING (true);

CREATE POLICY maintain ON sync_tick TO {maintenance} USING (true);

CREATE POLICY maintain ON sync_cursor TO {maintenance} USING (true);
