-- The free predicates that each actor of a tenant has used

CREATE TABLE free_predicate (
	tenant BIGINT NOT NULL,
	actor TEXT NOT NULL,
	name TEXT NOT NULL,
	CONSTRAINT free_predicate_pk PRIMARY KEY (tenant, actor, name),
	CONSTRAINT free_predicate_tenant_fk FOREIGN KEY(tenant) REFERENCES tenant (id)
);

COMMENT ON COLUMN free_predicate.name IS 'of a relation, not in the registry; counted for the actor, whoever used it before';

-- Who may read and write them

ALTER TABLE free_predicate ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT ON free_predicate TO {keys};

GRANT SELECT, DELETE ON free_predicate TO {erase};

CREATE POLICY work ON free_predicate TO {keys}, {erase} USING (true);
