"""Fact predicates and slots, which detect contradicting facts. See docs/data-model.md, Facts."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

from stratagraph.store.postgres.tables.base import metadata, tenant_key

fact_predicate = Table(
    "fact_predicate",
    metadata,
    tenant_key(),
    Column("predicate", Text, primary_key=True),
    Column("single_valued", Boolean, nullable=False),
)

fact_slot = Table(
    "fact_slot",
    metadata,
    tenant_key(),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("slot_key", LargeBinary, primary_key=True),
    Column("single_valued", Boolean, nullable=False),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    # Facts copy the flag through a foreign key on all five columns, so that all facts of a slot agree on it.
    UniqueConstraint("tenant", "scope", "sensitivity", "slot_key", "single_valued"),
)
