DELETE FROM reevaluation WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
