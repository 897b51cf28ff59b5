// Read the highest generation that the mirror has seen, including those that a lost database began.
CALL () { MATCH (c:SyncCheckpoint) WHERE c.gen IS :: INTEGER NOT NULL AND c.gen < 9007199254740992 RETURN max(c.gen) AS gen UNION ALL MATCH (g:SyncGeneration) WHERE g.gen IS :: INTEGER NOT NULL AND g.gen < 9007199254740992 RETURN max(g.gen) AS gen }
RETURN coalesce(max(gen), 0) AS gen
