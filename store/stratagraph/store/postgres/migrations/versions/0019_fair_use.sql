-- The token bucket of each party, and the tokens that each process has leased from it

CREATE UNLOGGED TABLE rate_bucket (
	bucket BYTEA NOT NULL,
	tokens FLOAT NOT NULL,
	refilled_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT rate_bucket_pk PRIMARY KEY (bucket)
);

CREATE INDEX rate_bucket_refilled_at_ix ON rate_bucket (refilled_at);

COMMENT ON COLUMN rate_bucket.bucket IS 'SHA-256 of the party''s name';

COMMENT ON COLUMN rate_bucket.tokens IS 'tokens at `refilled_at` that no process has leased';

CREATE UNLOGGED TABLE rate_lease (
	bucket BYTEA NOT NULL,
	process UUID NOT NULL,
	tokens FLOAT NOT NULL,
	expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT rate_lease_pk PRIMARY KEY (bucket, process),
	CONSTRAINT rate_lease_bucket_fk FOREIGN KEY (bucket) REFERENCES rate_bucket (bucket) ON DELETE CASCADE
);

-- Take `needed` tokens from a bucket, and lease up to `slice` more to a process for its next operations.
--
-- What the process has left of its lease before (`held`) goes back first, and so do the leases that have expired. A new
-- bucket is full. `granted` is 0 where the bucket has fewer than `needed`; else at least `needed`. `available` is what
-- the party can spend at present, this process's lease included.
CREATE FUNCTION lease_tokens(in_bucket BYTEA, in_process UUID, held FLOAT, needed FLOAT, slice FLOAT, burst FLOAT, rate FLOAT, lease_s FLOAT,
  OUT granted FLOAT, OUT available FLOAT)
LANGUAGE plpgsql AS $$
DECLARE
  balance FLOAT;
  since TIMESTAMP WITH TIME ZONE;
  at TIMESTAMP WITH TIME ZONE;
  returned FLOAT;
  leased FLOAT;
BEGIN
  INSERT INTO rate_bucket VALUES (in_bucket, burst, clock_timestamp()) ON CONFLICT DO NOTHING;
  SELECT tokens, refilled_at INTO balance, since FROM rate_bucket WHERE bucket = in_bucket FOR UPDATE;
  at := clock_timestamp();
  WITH ended AS (
    DELETE FROM rate_lease WHERE bucket = in_bucket AND (process = in_process OR expires_at <= at)
    RETURNING process, tokens)
  SELECT coalesce(sum(CASE WHEN process = in_process THEN least(tokens, held) ELSE tokens END), 0) INTO returned FROM ended;
  SELECT coalesce(sum(tokens), 0) INTO leased FROM rate_lease WHERE bucket = in_bucket;
  balance := least(burst - leased, balance + returned + rate * greatest(0, extract(epoch FROM at - since)));
  granted := CASE WHEN balance >= needed THEN needed + least(slice, (balance - needed) / 2) ELSE 0 END;
  available := CASE WHEN granted > 0 THEN balance - needed ELSE greatest(0, balance) END;
  UPDATE rate_bucket SET tokens = balance - granted, refilled_at = at WHERE bucket = in_bucket;
  IF granted > needed THEN
    INSERT INTO rate_lease VALUES (in_bucket, in_process, granted - needed, at + make_interval(secs => lease_s));
  END IF;
END
$$;

-- Who may read and write them

REVOKE ALL ON FUNCTION lease_tokens FROM PUBLIC;

GRANT EXECUTE ON FUNCTION lease_tokens TO {keys};

ALTER TABLE rate_bucket ENABLE ROW LEVEL SECURITY;

ALTER TABLE rate_lease ENABLE ROW LEVEL SECURITY;

CREATE POLICY work ON rate_bucket TO {keys} USING (true);

CREATE POLICY work ON rate_lease TO {keys} USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON rate_bucket, rate_lease TO {keys};
