"""What learning notes of tools and of procedures that are no skill yet. Neither table has content: names are hashed."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB

from stratagraph.store.postgres.schema.tables.base import metadata, tenant_key, to_record

# Episodes by the tools that they used, as long as too few of them succeeded to make a skill.
learned_signature = Table(
    "learned_signature",
    metadata,
    tenant_key(),
    Column("episode", Uuid, primary_key=True),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("signature", LargeBinary, nullable=False, comment="keyed hash of the name of the skill"),
    Column("run", Uuid, nullable=False, comment="the run that learned from the episode"),
    to_record("episode"),
    CheckConstraint("sensitivity BETWEEN 0 AND 4", name="sensitivity"),
    Index("learned_signature_ix", "tenant", "scope", "sensitivity", "signature", "episode"),
)

# What the episodes of one run showed of a tool; what is known of the tool is the sum over the runs.
learned_tool = Table(
    "learned_tool",
    metadata,
    tenant_key(),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("tool", LargeBinary, primary_key=True, comment="keyed hash of its name"),
    Column("run", Uuid, primary_key=True),
    Column("evidence", JSONB, nullable=False, comment="counts of calls, by what they showed"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("sensitivity BETWEEN 0 AND 4", name="sensitivity"),
)
