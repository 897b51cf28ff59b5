// Count what readers can see: live and past nodes, and the relations between them.
CALL () { MATCH (n:Memory|Past) RETURN count(n) AS nodes }
CALL () { MATCH ()-[r]->() WHERE r.gen IS NOT NULL RETURN count(r) AS relations }
RETURN nodes, relations
