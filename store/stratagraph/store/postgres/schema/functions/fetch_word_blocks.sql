CREATE OR REPLACE FUNCTION fetch_word_blocks(segments bigint[], buckets integer[])
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
