-- begin_census --
-- Begin a round, and forget one that was abandoned.
WITH forgotten AS (DELETE FROM census_count WHERE NOT is_complete)
UPDATE census SET started_at = CAST(:now AS timestamptz), after_tenant = NULL, after_id = NULL, work_s = 0

-- count_records --
-- Count the next :limit records, as of :at, into the round that is under way; return the key of the last one.
-- What sealed payloads say of executions is not counted: only their caller can open them.
WITH page AS MATERIALIZED (
  SELECT r.tenant, r.id, r.scope, r.sensitivity, r.type, r.state, r.confidence, r.version, r.created_at,
    CASE WHEN r.type >= 5 AND r.state <= 2 THEN r.payload END AS payload
  FROM record r
  WHERE CAST(:after_tenant AS bigint) IS NULL
    OR (r.tenant, r.id) > (CAST(:after_tenant AS bigint), CAST(:after_id AS uuid))
  ORDER BY r.tenant, r.id LIMIT :limit
), one AS MATERIALIZED (
  SELECT p.tenant, p.scope, p.sensitivity, p.type, p.state, p.confidence, p.version, p.created_at, p.state <= 2 AS is_current,
    s.pinned, coalesce(h.seq, 0) AS entries,
    salience_at(s.s, s.t0, p.created_at, s.curve, s.half_life_s, s.min_salience, s.max_age_s, s.params, s.pinned,
      CAST(:at AS timestamptz)) AS salience,
    CASE WHEN p.type = 5 THEN p.payload -> 'performance' ->> 'success_count' END AS successes,
    CASE WHEN p.type = 5 THEN p.payload -> 'performance' ->> 'failure_count' END AS failures,
    CASE WHEN p.type = 6 THEN p.payload -> 'metrics' ->> 'execution_count' END AS executions,
    p.type = 6 AND p.payload IS NOT NULL AS is_plan
  FROM page p JOIN salience s ON s.tenant = p.tenant AND s.id = p.id
  LEFT JOIN audit_head h ON h.tenant = p.tenant AND h.id = p.id
), counted AS (
  INSERT INTO census_count AS c (tenant, scope, sensitivity, type, is_complete, records, active, contested, pinned,
    revised, created_lately, audit_entries, fifth_1, fifth_2, fifth_3, fifth_4, fifth_5, confidence, salience, successes,
    failures, executions, plans)
  SELECT tenant, scope, sensitivity, type, false, count(*), count(*) FILTER (WHERE state = 1),
    count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE pinned AND is_current),
    count(*) FILTER (WHERE version > 1 OR state = 3),
    count(*) FILTER (WHERE created_at > CAST(:lately AS timestamptz)), coalesce(sum(entries), 0),
    count(*) FILTER (WHERE is_current AND salience < 0.2),
    count(*) FILTER (WHERE is_current AND salience >= 0.2 AND salience < 0.4),
    count(*) FILTER (WHERE is_current AND salience >= 0.4 AND salience < 0.6),
    count(*) FILTER (WHERE is_current AND salience >= 0.6 AND salience < 0.8),
    count(*) FILTER (WHERE is_current AND salience >= 0.8),
    coalesce(sum(confidence) FILTER (WHERE is_current), 0), coalesce(sum(salience) FILTER (WHERE is_current), 0),
    coalesce(sum(successes::float8), 0), coalesce(sum(failures::float8), 0), coalesce(sum(executions::float8), 0),
    count(*) FILTER (WHERE is_plan)
  FROM one GROUP BY tenant, scope, sensitivity, type
  ON CONFLICT (tenant, scope, sensitivity, type, is_complete) DO UPDATE SET
    records = c.records + excluded.records, active = c.active + excluded.active,
    contested = c.contested + excluded.contested, pinned = c.pinned + excluded.pinned,
    revised = c.revised + excluded.revised, created_lately = c.created_lately + excluded.created_lately,
    audit_entries = c.audit_entries + excluded.audit_entries, fifth_1 = c.fifth_1 + excluded.fifth_1,
    fifth_2 = c.fifth_2 + excluded.fifth_2, fifth_3 = c.fifth_3 + excluded.fifth_3,
    fifth_4 = c.fifth_4 + excluded.fifth_4, fifth_5 = c.fifth_5 + excluded.fifth_5,
    confidence = c.confidence + excluded.confidence, salience = c.salience + excluded.salience,
    successes = c.successes + excluded.successes, failures = c.failures + excluded.failures,
    executions = c.executions + excluded.executions, plans = c.plans + excluded.plans
)
SELECT tenant, id, (SELECT count(*) FROM page) AS counted FROM page ORDER BY tenant DESC, id DESC LIMIT 1

-- fetch_census --
-- Fetch the counts of the last complete round that the caller may read, by type.
SELECT type, {census_sums} FROM census_count WHERE tenant = :tenant AND is_complete
  AND (:all_scopes OR scope = ANY(CAST(:scopes AS integer[]))) AND sensitivity <= :ceiling GROUP BY type

-- fetch_census_of_all --
-- Fetch the counts of the last complete round, of all tenants, by type.
SELECT type, {census_sums} FROM census_count WHERE is_complete GROUP BY type

-- fetch_census_state --
-- Fetch how far the present round is, and when the last one was complete.
SELECT started_at, after_tenant, after_id, work_s, counted_at, finished_at, took_s FROM census

-- finish_census --
-- Let the counts of the round take the place of those before.
WITH former AS (DELETE FROM census_count WHERE is_complete)
UPDATE census SET counted_at = started_at, finished_at = CAST(:now AS timestamptz), took_s = work_s, started_at = NULL

-- move_census --
-- Note how far the round is, and how long its last page took.
UPDATE census SET after_tenant = :after_tenant, after_id = :after_id, work_s = work_s + :seconds

-- show_census --
-- Mark the counts of a finished round as complete.
UPDATE census_count SET is_complete = true WHERE NOT is_complete

-- census_sums --
-- Fragment: the sums of all counts.
sum(records)::bigint AS records, sum(active)::bigint AS active, sum(contested)::bigint AS contested,
  sum(pinned)::bigint AS pinned, sum(revised)::bigint AS revised, sum(created_lately)::bigint AS created_lately,
  sum(audit_entries)::bigint AS audit_entries, sum(fifth_1)::bigint AS fifth_1, sum(fifth_2)::bigint AS fifth_2,
  sum(fifth_3)::bigint AS fifth_3, sum(fifth_4)::bigint AS fifth_4, sum(fifth_5)::bigint AS fifth_5,
  sum(confidence) AS confidence, sum(salience) AS salience, sum(successes) AS successes, sum(failures) AS failures,
  sum(executions) AS executions, sum(plans) AS plans
