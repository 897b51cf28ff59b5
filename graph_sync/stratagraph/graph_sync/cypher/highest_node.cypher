// Find the highest internal id of a node, of whatever labels; -1 if there is none. All nodes are read.
MATCH (n) RETURN coalesce(max(id(n)), -1) AS last
