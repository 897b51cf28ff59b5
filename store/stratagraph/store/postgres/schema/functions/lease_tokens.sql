-- Take `needed` tokens from a bucket, and lease up to `slice` more to a process for its next operations.
--
-- What the process has left of its lease before (`held`) goes back first, and so do the leases that have expired. A new
-- bucket is full. `granted` is 0 where the bucket has fewer than `needed`; else at least `needed`. `available` is what
-- the party can spend at present, this process's lease included.
CREATE OR REPLACE FUNCTION lease_tokens(in_bucket BYTEA, in_process UUID, held FLOAT, needed FLOAT, slice FLOAT, burst FLOAT, rate FLOAT, lease_s FLOAT,
  OUT granted FLOAT, OUT available FLOAT)
LANGUAGE plpgsql AS $$
DECLARE
  balance FLOAT;
  since TIMESTAMP WITH TIME ZONE;
  at TIMESTAMP WITH TIME ZONE;
  returned FLOAT;
  leased FLOAT;
BEGIN
  INSERT INTO rate_bucket (bucket, tokens, refilled_at) VALUES (in_bucket, burst, clock_timestamp()) ON CONFLICT DO NOTHING;
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
    INSERT INTO rate_lease (bucket, process, tokens, expires_at)
    VALUES (in_bucket, in_process, granted - needed, at + make_interval(secs => lease_s));
  END IF;
END
$$;
