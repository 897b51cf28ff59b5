-- How much goes with some records.
SELECT
  (SELECT count(*) FROM relation e
    WHERE e.tenant = :tenant AND (e.source = ANY(CAST(:ids AS uuid[])) OR e.target = ANY(CAST(:ids AS uuid[])))) AS relations,
  (SELECT count(*) FROM record_history WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))) AS history,
  (SELECT count(*) FROM entity_term WHERE tenant = :tenant AND entity = ANY(CAST(:ids AS uuid[]))) AS names,
  (SELECT count(*) FROM episode_event
    WHERE tenant = :tenant AND (record = ANY(CAST(:ids AS uuid[])) OR episode = ANY(CAST(:ids AS uuid[])))) AS events,
  (SELECT count(*) FROM reevaluation WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))) AS reevaluations
