"""Spans of instrumented agents that were received and wait for their conversations to be imported."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key

received_span = Table(
    "received_span",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True, comment="of caller, scope, trace and span: one sent again is the same"),
    Column("actor", Text, nullable=False, comment="the caller's identity"),
    Column("caller_name", Text, nullable=False, comment="the caller's name in the audit log"),
    Column("caller_key", Text, comment="identity of the API key that sent it; none: the actor is the identity"),
    Column("caller_scopes", ARRAY(Text), comment="scopes of the caller; none: all of the tenant"),
    Column("caller_ceiling", SmallInteger, nullable=False),
    Column("caller_access", SmallInteger, nullable=False),
    Column("scope", Integer, nullable=False, comment="of the records to be"),
    Column("trace", LargeBinary, nullable=False, comment="keyed hash of caller, scope and trace"),
    Column("conversation", LargeBinary, comment="keyed hash of caller, scope and conversation; none: not named"),
    Column("content", LargeBinary, comment="the span as JSON, compressed"),
    Column("sealed", LargeBinary, comment="the same, where anything of the tenant is sealed"),
    Column("size", Integer, nullable=False, comment="bytes of the JSON"),
    Column("received_at", Instant, nullable=False),
    Column("is_new", Boolean, nullable=False, comment="no import has read it"),
    CheckConstraint("num_nonnulls(content, sealed) = 1", name="content"),
    ForeignKeyConstraint(["tenant"], ["tenant.id"]),
    Index("received_span_new_ix", "tenant", "trace", "received_at", postgresql_where=text("is_new")),
    Index("received_span_trace_ix", "tenant", "trace"),
    Index(
        "received_span_conversation_ix",
        "tenant",
        "conversation",
        postgresql_where=text("conversation IS NOT NULL"),
    ),
    Index("received_span_at_ix", "received_at"),
)
