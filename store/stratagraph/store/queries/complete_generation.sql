WITH done AS (
  UPDATE mirror_generation SET state = 'active', completed_at = clock_timestamp()
  WHERE mirror = :mirror AND generation = :generation AND state <> 'retired' RETURNING tenant
)
UPDATE mirror_generation g SET state = 'retired' FROM done
WHERE g.mirror = :mirror AND g.generation < :generation AND g.state <> 'retired'
  AND (done.tenant IS NULL OR g.tenant = done.tenant)
