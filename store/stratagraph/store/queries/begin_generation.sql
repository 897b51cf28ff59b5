-- A number higher than any that this database or the mirror itself has seen.
INSERT INTO mirror_generation (mirror, generation, state, incarnation, tenant, reason, total)
SELECT :mirror, greatest(:at_least, coalesce((SELECT max(generation) FROM mirror_generation WHERE mirror = :mirror), 0)) + 1,
  :state, :incarnation, :tenant, :reason, :total
RETURNING generation
