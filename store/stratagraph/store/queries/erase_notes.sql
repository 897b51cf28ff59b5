-- The text of rationales; the chain speaks of their hashes and stays whole.
DELETE FROM audit_note WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
