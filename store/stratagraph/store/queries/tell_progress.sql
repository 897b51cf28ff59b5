UPDATE mirror_generation SET done = :done WHERE mirror = :mirror AND generation = :generation
