-- fetch_salience_events --
-- Fetch the last salience event of records.
SELECT id, s, t0, last_reinforced_at FROM salience WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
