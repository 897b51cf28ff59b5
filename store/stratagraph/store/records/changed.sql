-- fetch_steps --
-- Fetch what single transactions did to records that the caller may read in full: when, from which state to which.
-- :firsts and :lasts are the versions that each wrote. `stepped` is false where the version before was rewritten in its
-- place, as an erasure does: the instant is then that of an earlier change.
-- Prepared: keys only, found by indexes.
SELECT asked.place, coalesce(late.from_at, r.updated_at) AS at, coalesce(late.state, r.state) AS state,
  early.state AS state_before, early.row_version IS NOT DISTINCT FROM nullif(asked.first - 1, 0) AS stepped
FROM unnest((SELECT CAST(:ids AS uuid[])), (SELECT CAST(:firsts AS bigint[])), (SELECT CAST(:lasts AS bigint[])))
  WITH ORDINALITY AS asked(id, first, last, place)
CROSS JOIN LATERAL (
  SELECT r.state, r.updated_at, r.row_version FROM record r
  WHERE r.tenant = :tenant AND r.id = asked.id
    AND (:all_scopes OR r.scope = ANY(CAST(:scopes AS integer[]))) AND r.sensitivity <= :ceiling LIMIT 1
) r
LEFT JOIN LATERAL (
  SELECT h.from_at, h.state FROM record_history h
  WHERE h.tenant = :tenant AND h.id = asked.id AND h.row_version >= asked.last AND asked.last < r.row_version
  ORDER BY h.row_version LIMIT 1
) late ON true
LEFT JOIN LATERAL (
  SELECT h.row_version, h.state FROM record_history h
  WHERE h.tenant = :tenant AND h.id = asked.id AND h.row_version < asked.first
  ORDER BY h.row_version DESC LIMIT 1
) early ON true

-- fetch_changed_relations --
-- Fetch relations by id, ended ones too; the caller must be able to read one end in full, the other at least redacted.
-- Prepared: keys only, found by an index.
SELECT e.id, e.source, e.target, e.predicate, e.weight, e.created_at, e.ended_at
FROM relation_in_sight e
WHERE e.tenant = :tenant AND e.id = ANY(CAST((SELECT CAST(:ids AS uuid[])) AS uuid[]))
  AND (:all_scopes OR (e.source_scope = ANY(CAST(:scopes AS integer[])) AND e.target_scope = ANY(CAST(:scopes AS integer[]))))
  AND least(e.source_sensitivity, e.target_sensitivity) <= :ceiling
  AND greatest(e.source_sensitivity, e.target_sensitivity) <= :ceiling + 1

-- find_ends_in_sight --
-- Find those of the given records that the caller may see, and whether in full.
SELECT h.id, h.sensitivity <= :ceiling AS in_full FROM record_head h
WHERE h.tenant = :tenant AND h.id = ANY(CAST(:ids AS uuid[])) AND (:all_scopes OR h.scope = ANY(CAST(:scopes AS integer[])))
  AND h.sensitivity <= :ceiling + 1

-- find_runs_of_changes --
-- Find the runs of learning that wrote the given versions of records, as far as the caller may see the runs.
SELECT asked.place, c.run
FROM unnest(CAST(:ids AS uuid[]), CAST(:firsts AS bigint[]), CAST(:lasts AS bigint[]))
  WITH ORDINALITY AS asked(id, first, last, place)
CROSS JOIN LATERAL (
  SELECT c.run FROM learning_change c
  WHERE c.tenant = :tenant AND c.id = asked.id AND coalesce(c.before, 0) < asked.first AND c.after >= asked.last
    AND (:all_scopes OR c.scope = ANY(CAST(:scopes AS integer[]))) AND c.sensitivity <= :ceiling
  ORDER BY c.run DESC LIMIT 1
) c
