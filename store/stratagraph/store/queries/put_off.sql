-- When records that are due, but may not go yet, are to be looked at again; NULL is when somebody says so.
UPDATE salience s SET due_at = a.due_at
FROM unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[]), CAST(:due_at AS timestamptz[])) AS a(tenant, id, due_at)
WHERE s.tenant = a.tenant AND s.id = a.id
