-- Count the terms of new records once: per tenant and term, per tenant, per scope.
WITH fresh AS (
  SELECT r.tenant, r.scope, r.terms FROM record r
  JOIN unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id) ON r.tenant = a.tenant AND r.id = a.id
), frequencies AS (
  INSERT INTO lex_df AS f (tenant, term, df)
  SELECT tenant, term, count(*) FROM fresh, unnest(terms) AS term GROUP BY tenant, term ORDER BY tenant, term
  ON CONFLICT (tenant, term) DO UPDATE SET df = f.df + excluded.df
), documents AS (
  INSERT INTO lex_stat AS s (tenant, docs) SELECT tenant, count(*) FROM fresh GROUP BY tenant
  ON CONFLICT (tenant) DO UPDATE SET docs = s.docs + excluded.docs
)
INSERT INTO lex_scope AS s (tenant, scope, docs) SELECT tenant, scope, count(*) FROM fresh GROUP BY tenant, scope
ON CONFLICT (tenant, scope) DO UPDATE SET docs = s.docs + excluded.docs
