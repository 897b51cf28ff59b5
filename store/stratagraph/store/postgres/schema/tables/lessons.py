"""How often lessons were told and helped."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Integer, Table, Uuid

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key, to_record

lesson_use = Table(
    "lesson_use",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("retrievals", Integer, nullable=False, comment="since the payload was stored, which may have earlier ones"),
    Column("helpful", Integer, nullable=False, comment="those of them that helped"),
    Column("retrieved_at", Instant, nullable=False, comment="the last one"),
    to_record(),
    CheckConstraint("helpful BETWEEN 0 AND retrievals", name="counts"),
)
