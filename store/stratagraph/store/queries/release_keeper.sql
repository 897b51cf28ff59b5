UPDATE mirror_keeper SET lease_until = '-infinity', owner = NULL WHERE mirror = :mirror AND owner = :owner
