-- Spans of instrumented agents, kept from their receipt until their conversations are imported whole.

CREATE TABLE received_span (
  tenant BIGINT NOT NULL,
  id UUID NOT NULL,
  actor TEXT NOT NULL,
  caller_name TEXT NOT NULL,
  caller_key TEXT,
  caller_scopes TEXT[],
  caller_ceiling SMALLINT NOT NULL,
  caller_access SMALLINT NOT NULL,
  scope INTEGER NOT NULL,
  trace BYTEA NOT NULL,
  conversation BYTEA,
  content BYTEA,
  sealed BYTEA,
  size INTEGER NOT NULL,
  received_at TIMESTAMP WITH TIME ZONE NOT NULL,
  is_new BOOLEAN NOT NULL,
  CONSTRAINT received_span_pk PRIMARY KEY (tenant, id),
  CONSTRAINT received_span_content_ck CHECK (num_nonnulls(content, sealed) = 1),
  CONSTRAINT received_span_tenant_fk FOREIGN KEY (tenant) REFERENCES tenant (id)
);

CREATE INDEX received_span_new_ix ON received_span (tenant, trace, received_at) WHERE is_new;

CREATE INDEX received_span_trace_ix ON received_span (tenant, trace);

CREATE INDEX received_span_conversation_ix ON received_span (tenant, conversation) WHERE conversation IS NOT NULL;

CREATE INDEX received_span_at_ix ON received_span (received_at);

COMMENT ON COLUMN received_span.id IS 'of caller, scope, trace and span: one sent again is the same';

COMMENT ON COLUMN received_span.actor IS 'the caller''s identity';

COMMENT ON COLUMN received_span.caller_name IS 'the caller''s name in the audit log';

COMMENT ON COLUMN received_span.caller_key IS 'identity of the API key that sent it; none: the actor is the identity';

COMMENT ON COLUMN received_span.caller_scopes IS 'scopes of the caller; none: all of the tenant';

COMMENT ON COLUMN received_span.scope IS 'of the records to be';

COMMENT ON COLUMN received_span.trace IS 'keyed hash of caller, scope and trace';

COMMENT ON COLUMN received_span.conversation IS 'keyed hash of caller, scope and conversation; none: not named';

COMMENT ON COLUMN received_span.content IS 'the span as JSON, compressed';

COMMENT ON COLUMN received_span.sealed IS 'the same, where anything of the tenant is sealed';

COMMENT ON COLUMN received_span.size IS 'bytes of the JSON';

COMMENT ON COLUMN received_span.is_new IS 'no import has read it';
