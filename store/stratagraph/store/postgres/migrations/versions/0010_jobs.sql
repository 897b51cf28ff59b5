-- One row per job, shared by all servers

CREATE TABLE job (
	name TEXT NOT NULL,
	owner TEXT,
	lease_until TIMESTAMP WITH TIME ZONE DEFAULT '-infinity' NOT NULL,
	next_run_at TIMESTAMP WITH TIME ZONE DEFAULT '-infinity' NOT NULL,
	started_at TIMESTAMP WITH TIME ZONE,
	finished_at TIMESTAMP WITH TIME ZONE,
	took_s FLOAT,
	result JSONB DEFAULT '{}' NOT NULL,
	error TEXT,
	failures INTEGER DEFAULT 0 NOT NULL,
	runs BIGINT DEFAULT 0 NOT NULL,
	failed_runs BIGINT DEFAULT 0 NOT NULL,
	totals JSONB DEFAULT '{}' NOT NULL,
	CONSTRAINT job_pk PRIMARY KEY (name),
	CONSTRAINT job_failures_ck CHECK (failures >= 0)
);

COMMENT ON COLUMN job.owner IS 'the server that runs it, or ran it last';

COMMENT ON COLUMN job.took_s IS 'seconds that the last finished run took';

COMMENT ON COLUMN job.result IS 'counts of the last successful run';

COMMENT ON COLUMN job.error IS 'why the last run failed: never a text that may quote a row';

COMMENT ON COLUMN job.failures IS 'failed runs since the last success';

COMMENT ON COLUMN job.totals IS 'counts of all successful runs';

-- Rows that a job could not process

CREATE TABLE job_set_aside (
	job TEXT NOT NULL,
	tenant BIGINT NOT NULL,
	id UUID NOT NULL,
	error TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	since TIMESTAMP WITH TIME ZONE NOT NULL,
	next_try_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT job_set_aside_pk PRIMARY KEY (job, tenant, id),
	CONSTRAINT job_set_aside_attempts_ck CHECK (attempts >= 1)
);

CREATE INDEX job_set_aside_tenant_ix ON job_set_aside (tenant, id);

COMMENT ON COLUMN job_set_aside.error IS 'the kind of the error, never its text';

-- Who may read and write them

ALTER TABLE job ENABLE ROW LEVEL SECURITY;

ALTER TABLE job_set_aside ENABLE ROW LEVEL SECURITY;

CREATE POLICY work ON job TO {jobs} USING (true);

CREATE POLICY work ON job_set_aside TO {jobs}, {erase}, {feed} USING (true);

GRANT SELECT, INSERT, UPDATE ON job TO {jobs};

GRANT SELECT, INSERT, UPDATE, DELETE ON job_set_aside TO {jobs}, {erase}, {feed};

