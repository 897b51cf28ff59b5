-- The same value as Salience.at in Python, to 1e-12. NULL for a custom curve that is not registered.
CREATE OR REPLACE FUNCTION salience_at(s double precision, t0 timestamptz, created_at timestamptz, curve integer,
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
