-- How many records and live relations the mirror should show, of one tenant or of all.
SELECT
  (SELECT count(*) FROM record WHERE CAST(:tenant AS bigint) IS NULL OR tenant = :tenant) AS records,
  (SELECT count(*) FROM relation
   WHERE ended_at IS NULL AND (CAST(:tenant AS bigint) IS NULL OR tenant = :tenant)) AS relations
