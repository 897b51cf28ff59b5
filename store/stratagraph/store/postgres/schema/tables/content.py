"""Artifacts and their references, the tombstones of deleted records, and the sources of erased ones."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
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
    text,
)

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key, to_record

artifact = Table(
    "artifact",
    metadata,
    tenant_key(),
    Column("sha256", LargeBinary, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("object", Uuid, nullable=False, comment="ends the key that its bytes have in the object store"),
    Column("sealed", LargeBinary, comment="an envelope with the key of its bytes; none: they are plain"),
    Column("data_key", Integer, comment="what seals the envelope"),
    Column("look_at", Instant, nullable=False, comment="when to see whether anybody needs it"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256"),
    CheckConstraint("(sealed IS NULL) = (data_key IS NULL)", name="sealed"),
    # An artifact without its data key is lost, so a key in use cannot be deleted. Erasing a tenant deletes both.
    ForeignKeyConstraint(
        ["tenant", "data_key"], ["data_key.tenant", "data_key.id"], deferrable=True, initially="DEFERRED"
    ),
    Index("artifact_look_ix", "look_at"),
)

# What a caller knows from its own upload. The media type is per uploader, because it is a claim about the bytes.
artifact_upload = Table(
    "artifact_upload",
    metadata,
    tenant_key(),
    Column("sha256", LargeBinary, primary_key=True),
    Column("actor", Text, primary_key=True, comment="the caller's identity"),
    Column("media_type", Text),
    Column("uploaded_at", Instant, nullable=False),
    ForeignKeyConstraint(["tenant", "sha256"], ["artifact.tenant", "artifact.sha256"], ondelete="CASCADE"),
)

artifact_reference = Table(
    "artifact_reference",
    metadata,
    tenant_key(),
    Column("sha256", LargeBinary, primary_key=True),
    Column("record", Uuid, primary_key=True),
    Column("media_type", Text),
    ForeignKeyConstraint(["tenant", "sha256"], ["artifact.tenant", "artifact.sha256"]),
    to_record("record"),
    Index("artifact_reference_record_ix", "tenant", "record"),
)

# Outlives artifacts and tenants: an object is listed here until the object store has confirmed its deletion.
artifact_removal = Table(
    "artifact_removal",
    metadata,
    tenant_key(),
    Column("object", Uuid, primary_key=True),
    Column("sha256", LargeBinary, nullable=False),
    Column("due_at", Instant, nullable=False, comment="-infinity: at once; later: unless it is adopted before"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256"),
    Index("artifact_removal_due_ix", "due_at"),
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
    Column(
        "entities",
        ARRAY(Uuid),
        nullable=False,
        server_default=text("'{}'"),
        comment="that the record was linked to; none once its rationales and captures are erased",
    ),
    Column(
        "learned",
        ARRAY(Uuid),
        nullable=False,
        server_default=text("'{}'"),
        comment="the episodes of the record, and what was learned from it; none once it is erased",
    ),
    CheckConstraint("cause BETWEEN 1 AND 3", name="cause"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    Index("tombstone_key_hash_ix", "tenant", "key_hash"),
)

# What a capture is compared with, so that an erased source is not captured again.
erased_source = Table(
    "erased_source",
    metadata,
    tenant_key(),
    Column(
        "key_hash", LargeBinary, primary_key=True, comment="of an idempotency key, of an event's ref, or of a thread"
    ),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("at", Instant, nullable=False),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
)
