-- The SQL half of the power law. What is smaller than any double is 0: PostgreSQL calls an underflow an error.
CREATE OR REPLACE FUNCTION curve_power_law(elapsed_s double precision, half_life_s double precision, params jsonb)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN ln(1 + elapsed_s / half_life_s) * greatest(coalesce((params ->> 'beta')::double precision, 1), 1e-100) > 100 THEN 0
  ELSE power(1 + elapsed_s / half_life_s, -coalesce((params ->> 'beta')::double precision, 1))
END;
