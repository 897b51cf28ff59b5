('x' || left(encode(sha256(convert_to(concat_ws('|', r.id, r.type, r.scope, r.sensitivity, r.state, r.row_version,
  extract(epoch FROM r.created_at), extract(epoch FROM r.occurred_at),
  CASE WHEN r.sensitivity <= :names_up_to THEN r.name END,
  CASE WHEN r.sensitivity <= :names_up_to AND r.type IN (3, 6) THEN r.payload::text END
), 'UTF8')), 'hex'), 8))::bit(32)::bigint
