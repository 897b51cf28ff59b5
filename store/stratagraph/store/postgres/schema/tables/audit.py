"""The audit log, insert-only and hash-chained. It outlives its records, so it has no foreign key to them."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
)

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key

audit = Table(
    "audit",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("action", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("salience", Float, comment="the value a salience event left"),
    Column(
        "note_hash",
        LargeBinary,
        comment="sha256(salt ‖ rationale), so the text can go and the chain still holds",
    ),
    Column("hash", LargeBinary, nullable=False),
    CheckConstraint("seq >= 1", name="seq"),
    CheckConstraint("octet_length(hash) = 32", name="hash"),
)

audit_note = Table(
    "audit_note",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("salt", LargeBinary, nullable=False),
    Column("rationale", Text),
    Column("sealed", LargeBinary, comment="a rationale about a record whose content is sealed"),
    Column(
        "sensitivity",
        SmallInteger,
        comment="of the most sensitive record that the rationale is about; null: of its own record",
    ),
    CheckConstraint("num_nonnulls(rationale, sealed) = 1", name="rationale"),
    CheckConstraint("sensitivity BETWEEN 0 AND 4", name="sensitivity"),
    ForeignKeyConstraint(["tenant", "id", "seq"], ["audit.tenant", "audit.id", "audit.seq"]),
)

audit_head = Table(
    "audit_head",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)
