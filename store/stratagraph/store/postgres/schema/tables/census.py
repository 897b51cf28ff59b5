"""Counts of what is stored, by scope, sensitivity and type, from rounds through all records."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Integer,
    SmallInteger,
    Table,
    Uuid,
)

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key

FIFTHS = 5  # ranges of salience of equal width

census = Table(
    "census",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("started_at", Instant, comment="of the round that is under way; null between two rounds"),
    Column("after_tenant", BigInteger, comment="key of the last record that it has counted"),
    Column("after_id", Uuid),
    Column("work_s", Float, nullable=False, comment="time that its pages have taken"),
    Column("counted_at", Instant, comment="the instant as of which the last complete round counted"),
    Column("finished_at", Instant, comment="when that round was complete"),
    Column("took_s", Float, nullable=False, comment="time that its pages took"),
    CheckConstraint("id = 1", name="single"),
)

census_count = Table(
    "census_count",
    metadata,
    tenant_key(),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("type", SmallInteger, primary_key=True, autoincrement=False),
    Column("is_complete", Boolean, primary_key=True, comment="false for the round that is under way"),
    *(
        Column(name, BigInteger, nullable=False)
        for name in ("records", "active", "contested", "pinned", "revised", "created_lately", "audit_entries")
    ),
    *(Column(f"fifth_{number}", BigInteger, nullable=False) for number in range(1, FIFTHS + 1)),
    *(
        Column(name, Float, nullable=False)
        for name in ("confidence", "salience", "successes", "failures", "executions", "plans")
    ),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"], ondelete="CASCADE"),
)
