// Read all checkpoints, except those with values that no worker wrote, which count as missing.
MATCH (c:SyncCheckpoint)
WHERE c.k IS :: STRING NOT NULL AND c.gen IS :: INTEGER NOT NULL AND c.snapshot IS :: INTEGER NOT NULL
  AND c.incarnation IS :: STRING NOT NULL AND c.nonce IS :: STRING NOT NULL AND toStringOrNull(c.nonce) =~ $uuid
  AND (c.seq IS NULL OR c.seq IS :: INTEGER NOT NULL)
RETURN collect({
  k: c.k, gen: c.gen, snapshot: c.snapshot, seq: c.seq, nonce: c.nonce, incarnation: c.incarnation, mapping: c.mapping
}) AS found
