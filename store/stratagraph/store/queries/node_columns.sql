-- What the mirror shows of records: never a text, and a payload only where it is a plan's structure or an entity's types.
-- A sealed record has neither name nor types, and a plan without steps, which takes away those of an earlier version.
-- `digest` is of all that the mirror will show, so that both sides can be compared by sums; 32 bits, since a sum of
-- greater numbers overflows in Cypher.
r.tenant, r.id, r.type, r.scope, r.sensitivity, r.state, r.name, r.row_version, r.created_at, r.occurred_at,
CASE r.type
  WHEN 6 THEN coalesce(r.payload, '{"nodes": [], "edges": []}')
  WHEN 3 THEN jsonb_build_object('primary_type', r.payload -> 'primary_type', 'types', r.payload -> 'types')
END AS payload,
{node_digest} AS digest
