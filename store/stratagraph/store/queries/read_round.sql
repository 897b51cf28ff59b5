SELECT checked_kind, checked_tenant, checked_id, check_began_at, drift, last_checked_at, last_drift
FROM mirror_keeper WHERE mirror = :mirror
