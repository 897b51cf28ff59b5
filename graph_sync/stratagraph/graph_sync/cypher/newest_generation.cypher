// The highest number that the mirror has seen, also one that a lost database gave.
CALL () { MATCH (c:SyncCheckpoint) RETURN max(c.gen) AS gen UNION ALL MATCH (g:SyncGeneration) RETURN max(g.gen) AS gen }
RETURN coalesce(max(gen), 0) AS gen
