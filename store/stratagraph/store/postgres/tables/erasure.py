"""Receipts of erasures: counts and keyed hashes, never content. They outlive their tenant."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from stratagraph.store.postgres.tables.base import Instant, metadata, tenant_key

erasure = Table(
    "erasure",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("kind", SmallInteger, nullable=False, comment="1 record, 2 entity, 3 scope, 4 tenant"),
    Column("actor", Text, nullable=False),
    Column("rationale", Text, nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("finished_at", Instant, comment="none: it was interrupted, and goes on when it is asked for again"),
    Column(
        "target_hash",
        LargeBinary,
        nullable=False,
        comment="keyed by the tenant's index key; of a tenant the SHA-256 of its name",
    ),
    Column("key_hash", LargeBinary),
    Column("request_hash", LargeBinary),
    Column("counts", JSONB, nullable=False),
    Column(
        "hashes", ARRAY(LargeBinary), nullable=False, comment="keyed hashes of the ids that went, the first of them"
    ),
    Column("digest", LargeBinary, nullable=False, comment="SHA-256 over all those hashes, in order"),
    Column("elsewhere", ARRAY(Uuid), nullable=False),
    Column("elsewhere_complete", Boolean, nullable=False),
    CheckConstraint("kind BETWEEN 1 AND 4", name="kind"),
    Index("erasure_key_uq", "key_hash", unique=True, postgresql_where=text("key_hash IS NOT NULL")),
    Index("erasure_running_uq", "target_hash", unique=True, postgresql_where=text("finished_at IS NULL")),
)
