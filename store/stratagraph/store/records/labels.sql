-- count_tags --
-- Count the tags of the newest :looked current records that the caller may read in full, and these records.
WITH looked AS MATERIALIZED ({labelled} ORDER BY k.id DESC LIMIT :looked)
SELECT NULL AS label, count(*) AS uses, NULL::uuid AS example FROM looked
UNION ALL
SELECT t.tag, count(*), NULL FROM looked l
CROSS JOIN LATERAL (SELECT r.tags FROM record r WHERE r.tenant = :tenant AND r.id = l.id LIMIT 1) r
CROSS JOIN LATERAL (SELECT DISTINCT unnest(r.tags) AS tag) t
GROUP BY t.tag

-- count_predicates --
-- Count the predicates, by their keys, of the newest :looked current facts that the caller may read in full, with a
-- fact of each, since only its content has the name.
WITH looked AS MATERIALIZED ({labelled} AND k.type = 4 ORDER BY k.id DESC LIMIT :looked)
SELECT NULL AS label, count(*) AS uses, NULL::uuid AS example FROM looked
UNION ALL
SELECT encode(f.predicate_key, 'hex'), count(*), (array_agg(l.id ORDER BY l.id DESC))[1] FROM looked l
CROSS JOIN LATERAL (SELECT f.predicate_key FROM fact f WHERE f.tenant = :tenant AND f.id = l.id LIMIT 1) f
GROUP BY f.predicate_key

-- labelled --
-- Fragment: the current records that the caller may read in full, and whose scope is one of :only, if that is given.
SELECT k.id FROM listed_record k
  WHERE k.tenant = :tenant AND (:all_scopes OR k.scope = ANY(CAST(:scopes AS integer[]))) AND k.sensitivity <= :ceiling
    AND k.state <= 2 AND (CAST(:only AS integer[]) IS NULL OR k.scope = ANY(CAST(:only AS integer[])))
