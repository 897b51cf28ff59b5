-- Episodes that consist of nothing but records that go.
SELECT v.episode AS id
FROM episode_event v
WHERE v.tenant = :tenant AND v.episode <> ALL(CAST(:ids AS uuid[])) AND v.episode IN (
  SELECT m.episode FROM episode_event m WHERE m.tenant = :tenant AND m.record = ANY(CAST(:ids AS uuid[])))
GROUP BY v.episode
HAVING bool_and(v.record = ANY(CAST(:ids AS uuid[])))
