UPDATE mirror_keeper SET checked_kind = 1, checked_tenant = 0, checked_id = NULL, check_began_at = NULL,
  last_checked_at = clock_timestamp(), last_drift = drift, drift = '{}'
WHERE mirror = :mirror
