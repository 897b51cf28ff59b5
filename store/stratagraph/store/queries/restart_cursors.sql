-- Everybody of this consumer stands at the newest tick; whoever held a cursor has lost it.
UPDATE sync_cursor SET tick = newest.id, win_tick = NULL, win_seq = 0, owner = NULL, epoch = epoch + 1,
  lease_until = '-infinity'
FROM (SELECT id, nonce FROM sync_tick ORDER BY id DESC LIMIT 1) newest
WHERE consumer = :consumer
RETURNING newest.id, newest.nonce
