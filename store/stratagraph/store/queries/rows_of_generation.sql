SELECT done FROM mirror_generation WHERE mirror = :mirror AND generation = :generation
