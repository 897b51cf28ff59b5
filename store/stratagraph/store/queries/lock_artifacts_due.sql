-- Artifacts whose turn it is to be looked at. One that a capture is just linking is left for the next pass.
SELECT tenant, sha256 FROM artifact WHERE look_at <= :at ORDER BY look_at LIMIT :limit FOR UPDATE SKIP LOCKED
