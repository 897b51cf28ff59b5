-- The SQL half of the power law. What is smaller than any double is 0: PostgreSQL calls an underflow an error.
CREATE FUNCTION curve_power_law(elapsed_s double precision, half_life_s double precision, params jsonb)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN ln(1 + elapsed_s / half_life_s) * greatest(coalesce((params ->> 'beta')::double precision, 1), 1e-100) > 100 THEN 0
  ELSE power(1 + elapsed_s / half_life_s, -coalesce((params ->> 'beta')::double precision, 1))
END;

-- The same value as Salience.at in Python, to 1e-12. NULL for a custom curve that is not registered.
CREATE FUNCTION salience_at(s double precision, t0 timestamptz, created_at timestamptz, curve integer,
  half_life_s double precision, min_salience double precision, max_age_s double precision, params jsonb,
  pinned boolean, at timestamptz)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN pinned THEN s
  WHEN max_age_s IS NOT NULL AND extract(epoch FROM at - created_at)::double precision > max_age_s THEN 0
  WHEN s < 1e-100 THEN s
  WHEN curve = 1 THEN greatest(least(min_salience, s), s * CASE
    WHEN extract(epoch FROM at - t0)::double precision / half_life_s > 100 THEN 0
    ELSE power(2::double precision, -greatest(extract(epoch FROM at - t0)::double precision, 0) / half_life_s) END)
  WHEN curve = 2 THEN greatest(least(min_salience, s),
    s * greatest(0, 1 - greatest(extract(epoch FROM at - t0)::double precision, 0) / half_life_s / 2))
  WHEN coalesce(params ->> 'name', 'power_law') = 'power_law' THEN greatest(least(min_salience, s),
    s * curve_power_law(greatest(extract(epoch FROM at - t0)::double precision, 0), half_life_s, params))
END;

ALTER TABLE episode ADD COLUMN learned_at timestamptz;

COMMENT ON COLUMN episode.learned_at IS 'when learning had read the closed episode; until then nothing of it is pruned';

COMMENT ON COLUMN tombstone.cause IS '1 pruned, 2 deleted, 3 erased';

-- A tenant's own due records in order, for the preview; salience_due_ix finds everybody's, for pruning.
CREATE INDEX salience_tenant_due_ix ON salience (tenant, due_at, id) WHERE due_at IS NOT NULL;

-- Deleting a record asks for all its relations, ended ones too: a partial index cannot answer that, and the whole
-- table would be read for every record that goes.
DROP INDEX relation_out_ix;

DROP INDEX relation_in_ix;

CREATE INDEX relation_out_ix ON relation (tenant, source, weight DESC, id) INCLUDE (target, predicate, ended_at);

CREATE INDEX relation_in_ix ON relation (tenant, target, weight DESC, id) INCLUDE (source, predicate, ended_at)
