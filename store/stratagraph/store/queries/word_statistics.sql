-- How many documents the tenant has, how many of them in the caller's scopes, and how often each term occurs.
SELECT
  coalesce((SELECT docs FROM lex_stat WHERE tenant = :tenant), 0)::bigint AS documents,
  CASE WHEN :all_scopes THEN 0 ELSE coalesce((
    SELECT sum(docs) FROM lex_scope WHERE tenant = :tenant AND scope = ANY(CAST(:scopes AS integer[]))), 0)
  END::bigint AS in_reach,
  array_agg(d.term) AS terms, array_agg(d.df) AS df
FROM (SELECT term, df FROM lex_df WHERE tenant = :tenant AND term = ANY(CAST(:terms AS integer[]))) d
