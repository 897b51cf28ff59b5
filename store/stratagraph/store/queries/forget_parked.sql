DELETE FROM sync_parked p
USING unnest(CAST(:tenants AS bigint[]), CAST(:kinds AS smallint[]), CAST(:ids AS uuid[])) AS a(tenant, kind, id)
WHERE p.consumer = :consumer AND p.tenant = a.tenant AND p.kind = a.kind AND p.id = a.id
RETURNING p.id
