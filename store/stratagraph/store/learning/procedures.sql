-- note_signatures --
-- Note the procedures of episodes that may become skills.
INSERT INTO learned_signature (tenant, episode, scope, sensitivity, signature, run)
SELECT :tenant, a.episode, :scope, :sensitivity, a.signature, :run
FROM unnest(CAST(:episodes AS uuid[]), CAST(:signatures AS bytea[])) AS a(episode, signature)
ON CONFLICT (tenant, episode) DO UPDATE SET signature = excluded.signature, run = excluded.run

-- mark_awaiting_skill --
-- Set whether episodes wait for their skill to be made, in id order.
WITH held AS (
  SELECT e.id FROM episode e
  WHERE e.tenant = :tenant AND e.id = ANY(CAST(:ids AS uuid[])) AND e.awaits_skill <> :awaits
  ORDER BY e.id FOR UPDATE OF e
)
UPDATE episode e SET awaits_skill = :awaits FROM held h WHERE e.tenant = :tenant AND e.id = h.id

-- fetch_noted_episodes --
-- Fetch the newest noted episodes of procedures, without those of runs that were undone.
SELECT a.signature, n.id, n.closed_at, n.outcome
FROM unnest(CAST(:signatures AS bytea[])) AS a(signature)
CROSS JOIN LATERAL (
  SELECT e.id, e.closed_at, e.outcome FROM learned_signature s
  JOIN episode e ON e.tenant = s.tenant AND e.id = s.episode AND e.closed_at IS NOT NULL
  WHERE s.tenant = :tenant AND s.scope = :scope AND s.sensitivity = :sensitivity AND s.signature = a.signature
    AND NOT EXISTS (
      SELECT FROM learning_report l WHERE l.tenant = s.tenant AND l.run = s.run AND l.scope = s.scope
        AND l.sensitivity = s.sensitivity AND l.undone_at IS NOT NULL)
  ORDER BY s.episode DESC LIMIT :most
) n
ORDER BY a.signature, n.closed_at, n.id

-- fetch_tool_evidence --
-- Fetch what the newest runs showed of tools, without runs that were undone.
SELECT a.tool, n.run, n.evidence
FROM unnest(CAST(:tools AS bytea[])) AS a(tool)
CROSS JOIN LATERAL (
  SELECT t.run, t.evidence FROM learned_tool t
  WHERE t.tenant = :tenant AND t.scope = :scope AND t.sensitivity = :sensitivity AND t.tool = a.tool
    AND NOT EXISTS (
      SELECT FROM learning_report l WHERE l.tenant = t.tenant AND l.run = t.run AND l.scope = t.scope
        AND l.sensitivity = t.sensitivity AND l.undone_at IS NOT NULL)
  ORDER BY t.run DESC LIMIT :most
) n
ORDER BY a.tool, n.run

-- store_tool_evidence --
-- Store what a run has shown of tools so far.
INSERT INTO learned_tool (tenant, scope, sensitivity, tool, run, evidence)
SELECT :tenant, :scope, :sensitivity, a.tool, :run, CAST(a.evidence AS jsonb)
FROM unnest(CAST(:tools AS bytea[]), CAST(:evidence AS text[])) AS a(tool, evidence)
ORDER BY a.tool
ON CONFLICT (tenant, scope, sensitivity, tool, run) DO UPDATE SET evidence = excluded.evidence

-- trim_tool_evidence --
-- Delete what all but the newest runs showed of tools.
DELETE FROM learned_tool t
USING unnest(CAST(:tools AS bytea[])) AS a(tool)
WHERE t.tenant = :tenant AND t.scope = :scope AND t.sensitivity = :sensitivity AND t.tool = a.tool
  AND t.run <= (SELECT o.run FROM learned_tool o
    WHERE o.tenant = :tenant AND o.scope = :scope AND o.sensitivity = :sensitivity AND o.tool = a.tool
    ORDER BY o.run DESC OFFSET :kept LIMIT 1)

-- fetch_sources_of_procedure --
-- Fetch the newest records from which a version of a skill or plan was derived.
SELECT e.source FROM relation e
JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate AND p.name = 'derived_semantic'
WHERE e.tenant = :tenant AND e.target = :id AND e.ended_at IS NULL ORDER BY e.source DESC LIMIT :limit
