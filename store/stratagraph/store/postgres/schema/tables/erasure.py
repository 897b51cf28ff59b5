"""Receipts of erasures: counts and salted hashes, never content. They outlive their tenant."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key

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
    Column("scope", Integer, comment="of what was requested; none: a tenant, or a receipt of an earlier release"),
    Column("salt", LargeBinary, comment="of all its hashes; none: a receipt of an earlier release, with keyed hashes"),
    Column("target_hash", LargeBinary, nullable=False, comment="SHA-256 of the salt and the id or name requested"),
    Column("key_hash", LargeBinary),
    Column("request_hash", LargeBinary),
    Column("counts", JSONB, nullable=False),
    Column("hashes", ARRAY(LargeBinary), nullable=False, comment="SHA-256 of the salt and each erased id, the first"),
    Column("digest", LargeBinary, nullable=False, comment="sum of the hashes of all erased ids modulo 2^256"),
    Column("elsewhere", ARRAY(Uuid), nullable=False),
    Column("elsewhere_complete", Boolean, nullable=False),
    CheckConstraint("kind BETWEEN 1 AND 4", name="kind"),
    Index("erasure_key_uq", "key_hash", unique=True, postgresql_where=text("key_hash IS NOT NULL")),
    Index(
        "erasure_running_scope_uq",
        "tenant",
        "scope",
        unique=True,
        postgresql_where=text("finished_at IS NULL AND kind = 3"),
    ),
    Index(
        "erasure_running_tenant_uq",
        "tenant",
        unique=True,
        postgresql_where=text("finished_at IS NULL AND kind = 4"),
    ),
)
