-- Records with all words of a name, newest first.
SELECT id, name, text, payload, provenance, interpretation, sealed FROM record
WHERE tenant = :tenant AND terms @> CAST(:terms AS integer[]) ORDER BY id DESC LIMIT :limit
