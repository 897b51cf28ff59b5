-- Say that this worker lives, forget those that do not, and tell how many there are.
WITH mine AS (
  INSERT INTO sync_worker (consumer, owner, alive_until)
  VALUES (:consumer, :owner, clock_timestamp() + make_interval(secs => :lease_s))
  ON CONFLICT (consumer, owner) DO UPDATE SET alive_until = excluded.alive_until
), gone AS (
  DELETE FROM sync_worker WHERE consumer = :consumer AND owner <> :owner
    AND (alive_until < clock_timestamp() OR alive_until > clock_timestamp() + make_interval(secs => 2 * :lease_s))
)
SELECT 1 + count(*) AS workers FROM sync_worker
WHERE consumer = :consumer AND owner <> :owner AND alive_until >= clock_timestamp()
  AND alive_until <= clock_timestamp() + make_interval(secs => 2 * :lease_s)
