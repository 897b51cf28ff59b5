// Find the next tenant that has any node in the mirror. The condition on the id makes it a single index seek.
MATCH (n:Mirrored) WHERE n.ten > $after AND n.id >= '' AND n.ten IS :: INTEGER NOT NULL
RETURN n.ten AS ten ORDER BY n.ten LIMIT 1
