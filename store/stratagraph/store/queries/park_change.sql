-- Set a change aside that the mirror refused, with a back-off that doubles up to an hour.
INSERT INTO sync_parked AS p (consumer, tenant, kind, id, version, error, tries, next_try)
VALUES (:consumer, :tenant, :kind, :id, :version, :error, 1, clock_timestamp() + interval '10 s')
ON CONFLICT (consumer, tenant, kind, id) DO UPDATE SET version = excluded.version, error = excluded.error,
  tries = p.tries + 1, next_try = clock_timestamp() + least(interval '1 h', interval '10 s' * power(2, p.tries))
