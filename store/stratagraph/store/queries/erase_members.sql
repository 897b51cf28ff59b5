-- The records that some episodes consist of.
SELECT record AS id FROM episode_event WHERE tenant = :tenant AND episode = ANY(CAST(:ids AS uuid[]))
