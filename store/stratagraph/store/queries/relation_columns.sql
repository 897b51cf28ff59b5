e.tenant, e.id, e.source, e.target, e.predicate, e.weight, e.created_at, e.ended_at, e.row_version,
{relation_digest} AS digest
