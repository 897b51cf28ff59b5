-- Keep artifacts from being removed until this transaction ends. In one order, as their remover takes them.
SELECT sha256 FROM artifact
WHERE tenant = :tenant AND sha256 = ANY(CAST(:hashes AS bytea[]))
ORDER BY sha256 FOR KEY SHARE
