-- How many rows each data key of a tenant seals, all tables in one snapshot. The key's four bytes follow the format's.
SELECT kind, substring(sealed FROM 2 FOR 4) AS mark, count(*) AS sealed FROM (
  SELECT 'records' AS kind, sealed FROM record WHERE tenant = :tenant AND sealed IS NOT NULL
  UNION ALL
  SELECT 'history', sealed FROM record_history WHERE tenant = :tenant AND sealed IS NOT NULL
  UNION ALL
  SELECT 'notes', sealed FROM audit_note WHERE tenant = :tenant AND sealed IS NOT NULL
  UNION ALL
  SELECT 'candidates', sealed FROM candidate WHERE tenant = :tenant AND sealed IS NOT NULL
  UNION ALL
  SELECT 'artifacts', sealed FROM artifact WHERE tenant = :tenant AND sealed IS NOT NULL
) q
GROUP BY kind, mark
