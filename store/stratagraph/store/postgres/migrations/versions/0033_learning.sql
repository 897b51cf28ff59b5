-- Learning: its runs, what they report and changed, and which closed episodes they have read

ALTER TABLE episode ADD COLUMN learned_by UUID;

ALTER TABLE episode ADD COLUMN learned_stages TEXT[] DEFAULT '{}' NOT NULL;

ALTER TABLE episode ADD COLUMN learn_after TIMESTAMP WITH TIME ZONE;

COMMENT ON COLUMN episode.learned_at IS 'when all stages of learning had read the closed episode; until then nothing of it is pruned';

COMMENT ON COLUMN episode.learned_by IS 'the run of the last stage that has read it';

COMMENT ON COLUMN episode.learned_stages IS 'that have read it';

COMMENT ON COLUMN episode.learn_after IS 'not read by learning before, because it failed';

CREATE INDEX episode_unlearned_ix ON episode (tenant, scope, sensitivity, closed_at, id) WHERE closed_at IS NOT NULL AND learned_at IS NULL;

-- What waited for learning without an end waits for 90 days more at most; the job that prunes computes the instant anew.

UPDATE salience s SET due_at = now() + interval '90 days'
FROM (
  SELECT e.tenant, e.id FROM episode e WHERE e.learned_at IS NULL
  UNION
  SELECT e.tenant, v.record FROM episode e JOIN episode_event v ON v.tenant = e.tenant AND v.episode = e.id
  WHERE e.learned_at IS NULL
) u
WHERE s.tenant = u.tenant AND s.id = u.id AND s.due_at IS NULL AND s.deletion_policy = 1 AND NOT s.pinned;

CREATE TABLE learning_run (
	id UUID NOT NULL,
	began_at TIMESTAMP WITH TIME ZONE NOT NULL,
	stages TEXT[] NOT NULL,
	CONSTRAINT learning_run_pk PRIMARY KEY (id)
);

CREATE UNIQUE INDEX learning_run_uq ON learning_run ((true));

COMMENT ON COLUMN learning_run.began_at IS 'the run''s now, also when it is resumed later';

CREATE TABLE learning_report (
	tenant BIGINT NOT NULL,
	run UUID NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	began_at TIMESTAMP WITH TIME ZONE NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
	finished_at TIMESTAMP WITH TIME ZONE,
	batches INTEGER NOT NULL,
	episodes INTEGER NOT NULL,
	set_aside INTEGER NOT NULL,
	stages JSONB NOT NULL,
	undone_at TIMESTAMP WITH TIME ZONE,
	undone_by TEXT,
	is_trimmed BOOLEAN DEFAULT false NOT NULL,
	CONSTRAINT learning_report_pk PRIMARY KEY (tenant, run, scope, sensitivity),
	CONSTRAINT learning_report_tenant_scope_fk FOREIGN KEY(tenant, scope) REFERENCES scope (tenant, id),
	CONSTRAINT learning_report_sensitivity_ck CHECK (sensitivity BETWEEN 0 AND 4),
	CONSTRAINT learning_report_counts_ck CHECK (batches >= 0 AND episodes >= 0 AND set_aside >= 0)
);

CREATE INDEX learning_report_unfinished_ix ON learning_report (run) WHERE finished_at IS NULL;

CREATE INDEX learning_report_trim_ix ON learning_report (began_at) WHERE NOT is_trimmed;

COMMENT ON COLUMN learning_report.began_at IS 'the run''s now';

COMMENT ON COLUMN learning_report.updated_at IS 'when its last batch was written';

COMMENT ON COLUMN learning_report.finished_at IS 'when the run was finished; null until then';

COMMENT ON COLUMN learning_report.stages IS 'the report of each stage by its name';

COMMENT ON COLUMN learning_report.undone_by IS 'the actor';

COMMENT ON COLUMN learning_report.is_trimmed IS 'it cannot be undone any more';

CREATE TABLE learning_change (
	tenant BIGINT NOT NULL,
	run UUID NOT NULL,
	id UUID NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	before BIGINT,
	after BIGINT,
	s FLOAT,
	t0 TIMESTAMP WITH TIME ZONE,
	last_reinforced_at TIMESTAMP WITH TIME ZONE,
	t0_after TIMESTAMP WITH TIME ZONE,
	is_merged BOOLEAN NOT NULL,
	is_mixed BOOLEAN NOT NULL,
	kept SMALLINT,
	CONSTRAINT learning_change_pk PRIMARY KEY (tenant, run, id),
	CONSTRAINT learning_change_tenant_id_fk FOREIGN KEY(tenant, id) REFERENCES record (tenant, id) ON DELETE CASCADE,
	CONSTRAINT learning_change_salience_ck CHECK ((s IS NULL) = (t0 IS NULL) AND (s IS NULL) = (t0_after IS NULL)),
	CONSTRAINT learning_change_kept_ck CHECK (kept BETWEEN 1 AND 4)
);

CREATE INDEX learning_change_record_ix ON learning_change (tenant, id);

COMMENT ON COLUMN learning_change.before IS 'row_version before the run; null if the run created the record';

COMMENT ON COLUMN learning_change.after IS 'row_version after the run; null if only its salience changed';

COMMENT ON COLUMN learning_change.s IS 'its salience before the run; null if the run did not change it';

COMMENT ON COLUMN learning_change.t0_after IS 'the instant of the run''s last event of its salience; -infinity if others had one in between';

COMMENT ON COLUMN learning_change.is_merged IS 'an entity that the run merged into another one';

COMMENT ON COLUMN learning_change.is_mixed IS 'changed by another writer between two batches of the run';

COMMENT ON COLUMN learning_change.kept IS 'why undoing the run has left the record as it is; null before';

CREATE TABLE learning_relation (
	tenant BIGINT NOT NULL,
	run UUID NOT NULL,
	relation UUID NOT NULL,
	scope INTEGER NOT NULL,
	sensitivity SMALLINT NOT NULL,
	is_new BOOLEAN NOT NULL,
	CONSTRAINT learning_relation_pk PRIMARY KEY (tenant, run, relation),
	CONSTRAINT learning_relation_tenant_relation_fk FOREIGN KEY(tenant, relation) REFERENCES relation (tenant, id) ON DELETE CASCADE
);

CREATE INDEX learning_relation_relation_ix ON learning_relation (tenant, relation);

COMMENT ON COLUMN learning_relation.is_new IS 'whether the run inserted the relation; else it ended it';

-- Who may read and write them. A caller reads the reports of what it may read; nobody reads the log of changes but who
-- undoes them.

ALTER TABLE learning_run ENABLE ROW LEVEL SECURITY;

ALTER TABLE learning_report ENABLE ROW LEVEL SECURITY;

ALTER TABLE learning_change ENABLE ROW LEVEL SECURITY;

ALTER TABLE learning_relation ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, DELETE ON learning_run TO {jobs};

GRANT SELECT ON learning_report TO {read};

GRANT SELECT, INSERT, UPDATE ON learning_report TO {write}, {jobs};

GRANT SELECT, INSERT, UPDATE, DELETE ON learning_change, learning_relation TO {write}, {jobs};

GRANT SELECT, DELETE ON learning_report, learning_change, learning_relation TO {erase};

CREATE POLICY work ON learning_run TO {jobs} USING (true);

CREATE POLICY read ON learning_report TO {read} USING (
  tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling())
  AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[])));

CREATE POLICY write ON learning_report TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON learning_report TO {jobs}, {erase} USING (true);

CREATE POLICY write ON learning_change TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON learning_change TO {jobs}, {erase} USING (true);

CREATE POLICY write ON learning_relation TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON learning_relation TO {jobs}, {erase} USING (true);
