// The next tenant of whom the mirror holds anything; a key that no id lies before makes it one seek.
MATCH (n:Mirrored) WHERE n.ten > $after AND n.id >= ''
RETURN n.ten AS ten ORDER BY n.ten LIMIT 1
