// Read all checkpoints.
MATCH (c:SyncCheckpoint)
RETURN collect({
  k: c.k, gen: c.gen, snapshot: c.snapshot, seq: c.seq, nonce: c.nonce, incarnation: c.incarnation, mapping: c.mapping
}) AS found
