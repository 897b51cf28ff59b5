UPDATE mirror_keeper SET drift = drift || (
  SELECT jsonb_object_agg(a.name, a.count + coalesce((drift ->> a.name)::bigint, 0))
  FROM unnest(CAST(:names AS text[]), CAST(:counts AS bigint[])) AS a(name, count))
WHERE mirror = :mirror
