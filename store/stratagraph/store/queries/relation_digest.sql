('x' || left(encode(sha256(convert_to(concat_ws('|', e.id, e.source, e.target, e.predicate, e.weight, e.row_version,
  extract(epoch FROM e.created_at)), 'UTF8')), 'hex'), 8))::bit(32)::bigint
