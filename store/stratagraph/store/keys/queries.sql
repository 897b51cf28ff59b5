-- wrapped_samples --
-- Return one wrapped key for each master key that wraps any.
SELECT DISTINCT ON (wrapped_by) wrapped_by, wrapped FROM (
  SELECT wrapped_by, wrapped FROM data_key
  UNION ALL
  SELECT wrapped_by, index_key FROM tenant WHERE wrapped_by IS NOT NULL
) k
ORDER BY wrapped_by
