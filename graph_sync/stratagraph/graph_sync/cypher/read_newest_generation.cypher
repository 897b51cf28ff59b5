// Read the highest generation that the mirror has seen, including those that a lost database began.
CALL () { MATCH (c:SyncCheckpoint) RETURN max(c.gen) AS gen UNION ALL MATCH (g:SyncGeneration) RETURN max(g.gen) AS gen }
RETURN coalesce(max(gen), 0) AS gen
