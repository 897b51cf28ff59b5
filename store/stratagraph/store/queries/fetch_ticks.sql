-- The two snapshots that bound a window.
SELECT id, snap::text AS snap, nonce FROM sync_tick WHERE id IN (:earlier, :later)
