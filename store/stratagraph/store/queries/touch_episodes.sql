-- Count the appended events and put off the silence.
UPDATE episode e
SET events = e.events + a.added, last_record = a.last, closes_at = :closes_at
FROM unnest(CAST(:ids AS uuid[]), CAST(:added AS integer[]), CAST(:last AS uuid[])) AS a(id, added, last)
WHERE e.tenant = :tenant AND e.id = a.id
RETURNING e.id
