"""Episodes that a language model is to read, or has read."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key, to_record

# A row stays once its episode was read, so that no episode is read twice.
extraction = Table(
    "extraction",
    metadata,
    tenant_key(),
    Column("episode", Uuid, primary_key=True),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("state", SmallInteger, nullable=False, comment="1: to be read; 2: read"),
    Column("part", Integer, nullable=False, comment="the number of parts that have been read"),
    Column("attempts", Integer, nullable=False, comment="at the present part, since one was given up or put off"),
    Column("queued_at", Instant, nullable=False),
    Column("next_try_at", Instant, nullable=False, comment="later than it was queued if it was set aside"),
    Column("owner", Text, comment="the server that reads it"),
    Column("lease_until", Instant, nullable=False, server_default=text("'-infinity'")),
    to_record("episode"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("state BETWEEN 1 AND 2", name="state"),
    CheckConstraint("part >= 0 AND attempts >= 0", name="counts"),
    Index("extraction_next_try_at_ix", "next_try_at", "queued_at", postgresql_where=text("state = 1")),
)
