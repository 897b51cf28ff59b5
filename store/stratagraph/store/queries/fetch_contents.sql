-- Of locked records that are sealed the blob; of those about to be sealed what they say. `:levels` are new sensitivities.
SELECT r.id, r.sealed, closing.now AS closing,
  CASE WHEN closing.now THEN r.name END AS name,
  CASE WHEN closing.now THEN r.text END AS text,
  CASE WHEN closing.now THEN r.payload END AS payload,
  CASE WHEN closing.now THEN r.provenance END AS provenance,
  CASE WHEN closing.now THEN r.interpretation END AS interpretation
FROM record r
JOIN (
  SELECT id, max(level) AS level
  FROM unnest(CAST(:ids AS uuid[]), CAST(:levels AS smallint[])) AS a(id, level) GROUP BY id
) a ON a.id = r.id
CROSS JOIN LATERAL (
  SELECT r.sealed IS NULL AND coalesce(greatest(r.sensitivity, a.level) >= CAST(:seal_from AS smallint), false) AS now
) closing
WHERE r.tenant = :tenant AND (r.sealed IS NOT NULL OR closing.now)
