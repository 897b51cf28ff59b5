-- Keep what the record was, then change it. Returns the new row_version. What was written at the same instant, by this
-- very transaction, was never seen by anybody and is not history.
WITH kept AS (
  INSERT INTO record_history (tenant, id, row_version, from_at, to_at, type, scope, sensitivity, state, confidence,
    tags, name, text, payload, provenance, interpretation, sealed, occurred_at, version, terms, impacts)
  SELECT tenant, id, row_version, updated_at, CAST(:at AS timestamptz), type, scope, sensitivity, state, confidence,
    tags, name, text, payload, provenance, interpretation, sealed, occurred_at, version, terms, impacts
  FROM record WHERE tenant = :tenant AND id = :id AND updated_at < :at
)
UPDATE record SET
  doc = CASE WHEN CAST(:impacts AS text) IS NULL THEN doc ELSE :doc END,
  state = coalesce(CAST(:state AS smallint), state),
  sensitivity = coalesce(CAST(:sensitivity AS smallint), sensitivity),
  confidence = coalesce(CAST(:confidence AS float8), confidence),
  name = CASE WHEN CAST(:sealed AS bytea) IS NULL THEN coalesce(CAST(:name AS text), name) END,
  text = CASE WHEN CAST(:sealed AS bytea) IS NULL THEN coalesce(CAST(:text AS text), text) END,
  payload = CASE WHEN CAST(:sealed AS bytea) IS NULL
    THEN coalesce(CAST(CAST(:payload AS text) AS jsonb), payload) END,
  provenance = CASE WHEN CAST(:sealed AS bytea) IS NULL
    THEN coalesce(CAST(CAST(:provenance AS text) AS jsonb), provenance) END,
  interpretation = CASE WHEN CAST(:sealed AS bytea) IS NULL
    THEN coalesce(CAST(CAST(:interpretation AS text) AS jsonb), interpretation) END,
  sealed = coalesce(CAST(:sealed AS bytea), sealed),
  terms = coalesce(CAST(:terms AS integer[]), terms),
  impacts = coalesce(CAST(CAST(:impacts AS text) AS sparsevec), impacts),
  occurred_at = coalesce(CAST(:occurred_at AS timestamptz), occurred_at),
  updated_at = :at,
  version = version + :step,
  row_version = row_version + 1
WHERE tenant = :tenant AND id = :id
RETURNING row_version
