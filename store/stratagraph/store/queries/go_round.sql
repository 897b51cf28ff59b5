UPDATE mirror_keeper SET checked_kind = :kind, checked_tenant = :tenant, checked_id = :id,
  check_began_at = coalesce(check_began_at, clock_timestamp())
WHERE mirror = :mirror
