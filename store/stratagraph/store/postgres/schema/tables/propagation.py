"""The queue of records whose support has changed, for those beyond the number that one write re-evaluates."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, Table, Text, Uuid

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key, to_record

reevaluation = Table(
    "reevaluation",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("cause", Uuid, nullable=False, comment="the record whose change may have taken its support"),
    Column("queued_at", Instant, nullable=False),
    Column("next_try_at", Instant, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text),
    to_record(),
    CheckConstraint("attempts >= 0", name="attempts"),
    Index("reevaluation_next_try_ix", "next_try_at"),
)
