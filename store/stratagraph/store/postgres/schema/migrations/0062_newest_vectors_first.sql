-- Existing records are embedded from the newest to the oldest: a filling that was under way begins again, and skips the
-- records that have a vector.

UPDATE embedding_model SET after_tenant = NULL, after_id = NULL, looked_at = 0 WHERE state = 1;
