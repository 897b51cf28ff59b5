// Find the highest internal id of any node with one label or, with relationships, of one type. The lookup index is read
// from its end, so that this costs the same however large the store is.
MATCH ELEMENT WITH x ORDER BY x DESC LIMIT 1 RETURN id(x) AS last
