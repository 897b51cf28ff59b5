-- count_all_records --
-- Count the records of each type in a scope, or in the whole tenant where :scope is NULL.
SELECT type, count(*) AS records FROM record
WHERE tenant = :tenant AND (CAST(:scope AS integer) IS NULL OR scope = :scope) GROUP BY type

-- count_cascades --
-- Count the rows that the foreign keys will delete with the given records.
SELECT
  (SELECT count(*) FROM relation e
    WHERE e.tenant = :tenant AND (e.source = ANY(CAST(:ids AS uuid[])) OR e.target = ANY(CAST(:ids AS uuid[])))) AS relations,
  (SELECT count(*) FROM record_history WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))) AS history,
  (SELECT count(*) FROM entity_term WHERE tenant = :tenant AND entity = ANY(CAST(:ids AS uuid[]))) AS names,
  (SELECT count(*) FROM episode_event
    WHERE tenant = :tenant AND (record = ANY(CAST(:ids AS uuid[])) OR episode = ANY(CAST(:ids AS uuid[])))) AS events,
  (SELECT count(*) FROM reevaluation WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))) AS reevaluations

-- count_records_by_type --
-- Count the given records by type.
SELECT type, count(*) AS records FROM record WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) GROUP BY type
