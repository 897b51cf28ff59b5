-- Take or keep the right to keep a mirror. No row: another has it.
INSERT INTO mirror_keeper AS k (mirror, owner, epoch, lease_until)
VALUES (:mirror, :owner, 1, clock_timestamp() + make_interval(secs => :lease_s))
ON CONFLICT (mirror) DO UPDATE
SET owner = excluded.owner, lease_until = excluded.lease_until,
  epoch = k.epoch + CASE WHEN k.owner = excluded.owner THEN 0 ELSE 1 END
WHERE k.owner = excluded.owner OR k.lease_until < clock_timestamp()
  OR k.lease_until > clock_timestamp() + make_interval(secs => 2 * :lease_s)
RETURNING k.epoch
