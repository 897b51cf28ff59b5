-- Close relations: they never change, they end.
UPDATE relation SET ended_at = :at, row_version = row_version + 1
WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND ended_at IS NULL
RETURNING id, row_version
