-- wrapped_samples --
-- Return one wrapped key for each master key that wraps any.
SELECT DISTINCT ON (wrapped_by) wrapped_by, wrapped FROM (
  SELECT wrapped_by, wrapped FROM data_key
  UNION ALL
  SELECT wrapped_by, index_key FROM tenant WHERE wrapped_by IS NOT NULL
) k
ORDER BY wrapped_by

-- lease_tokens --
-- Take tokens from a bucket and lease some more to a process.
SELECT granted, available FROM lease_tokens(:bucket, :process, :held, :needed, :slice, :burst, :rate, :lease_s)

-- delete_idle_buckets --
-- Delete the buckets that nobody has used for a day; one that is used again begins full, as it would be by then.
DELETE FROM rate_bucket WHERE refilled_at < now() - interval '1 day'
