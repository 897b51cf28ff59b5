-- The number that rows carry now: the newest of the whole mirror, and of tenants that have one of their own since.
SELECT tenant, max(generation) AS generation FROM mirror_generation WHERE mirror = :mirror GROUP BY tenant
