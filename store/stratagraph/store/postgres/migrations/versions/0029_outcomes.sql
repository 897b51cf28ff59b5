-- What was reported of a retrieval. Grants and policies of the table cover the columns.

ALTER TABLE retrieval ADD COLUMN outcome SMALLINT;

ALTER TABLE retrieval ADD COLUMN reported_at TIMESTAMP WITH TIME ZONE;

ALTER TABLE retrieval ADD COLUMN report_hash BYTEA;

ALTER TABLE retrieval ADD COLUMN credited UUID[];

ALTER TABLE retrieval ADD COLUMN penalized UUID[];

ALTER TABLE retrieval ADD COLUMN sequence xid8;

COMMENT ON COLUMN retrieval.outcome IS 'null until it is reported';

COMMENT ON COLUMN retrieval.report_hash IS 'of the report, to recognise its repetition';

COMMENT ON COLUMN retrieval.credited IS 'records that were used and credited with the outcome';

COMMENT ON COLUMN retrieval.penalized IS 'records whose salience the report lowered';

COMMENT ON COLUMN retrieval.sequence IS 'the transaction of the report';

ALTER TABLE retrieval ADD CONSTRAINT retrieval_outcome_ck CHECK (outcome BETWEEN 1 AND 3);

ALTER TABLE retrieval ADD CONSTRAINT retrieval_report_ck
  CHECK (num_nonnulls(outcome, reported_at, report_hash, credited, penalized, sequence) IN (0, 6));

-- How useful the answers are that a tenant's callers reported on

CREATE TABLE retrieval_use (
	tenant BIGINT NOT NULL,
	successes BIGINT NOT NULL,
	failures BIGINT NOT NULL,
	partials BIGINT NOT NULL,
	returned BIGINT NOT NULL,
	used BIGINT NOT NULL,
	CONSTRAINT retrieval_use_pk PRIMARY KEY (tenant),
	CONSTRAINT retrieval_use_tenant_fk FOREIGN KEY(tenant) REFERENCES tenant (id)
);

COMMENT ON COLUMN retrieval_use.returned IS 'records of the retrievals that an outcome was reported of';

COMMENT ON COLUMN retrieval_use.used IS 'those of them that the reports name as used';

ALTER TABLE retrieval_use ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON retrieval_use TO {read}, {jobs};

GRANT SELECT, INSERT, UPDATE ON retrieval_use TO {write};

GRANT SELECT, DELETE ON retrieval_use TO {erase};

CREATE POLICY caller ON retrieval_use TO {read}, {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON retrieval_use TO {jobs}, {erase} USING (true);
