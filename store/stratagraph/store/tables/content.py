"""Large bytes by their hash, and what is left of what was forgotten."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
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
)

from stratagraph.store.tables.base import Instant, metadata, tenant_key, to_record

artifact = Table(
    "artifact",
    metadata,
    tenant_key(),
    Column("sha256", LargeBinary, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("media_type", Text),
    Column("created_at", Instant, nullable=False),
    CheckConstraint("octet_length(sha256) = 32", name="sha256"),
)

artifact_reference = Table(
    "artifact_reference",
    metadata,
    tenant_key(),
    Column("sha256", LargeBinary, primary_key=True),
    Column("record", Uuid, primary_key=True),
    ForeignKeyConstraint(["tenant", "sha256"], ["artifact.tenant", "artifact.sha256"]),
    to_record("record"),
    Index("artifact_reference_record_ix", "tenant", "record"),
)

tombstone = Table(
    "tombstone",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("type", SmallInteger, nullable=False),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("cause", SmallInteger, nullable=False, comment="1 pruned, 2 deleted, 3 erased"),
    Column("key_hash", LargeBinary, comment="what a background job would derive again, hashed"),
    Column("at", Instant, nullable=False),
    CheckConstraint("cause BETWEEN 1 AND 3", name="cause"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    Index("tombstone_key_hash_ix", "tenant", "key_hash"),
)
