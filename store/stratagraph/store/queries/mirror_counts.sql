-- How many records and live relations the mirror should show.
SELECT (SELECT count(*) FROM record) AS records, (SELECT count(*) FROM relation WHERE ended_at IS NULL) AS relations
