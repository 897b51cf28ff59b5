-- What has been begun and not completed, oldest first; of whole mirrors only the newest counts.
SELECT generation, tenant, state, reason, done, total FROM mirror_generation g
WHERE mirror = :mirror AND state IN ('building', 'refreshing')
  AND NOT EXISTS (
    SELECT FROM mirror_generation n WHERE n.mirror = g.mirror AND n.generation > g.generation
      AND (n.tenant IS NULL OR n.tenant = g.tenant))
ORDER BY generation
