"""The terms by which entities are found: identifiers, names and aliases, each as a keyed hash."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Uuid,
    text,
)

from stratagraph.store.postgres.tables.base import metadata, tenant_key, to_record

entity_term = Table(
    "entity_term",
    metadata,
    tenant_key(),
    Column("term_key", LargeBinary, primary_key=True),
    Column("entity", Uuid, primary_key=True),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("kind", SmallInteger, nullable=False, comment="1 identifier, 2 name, 3 alias"),
    Column("claimed", Boolean, nullable=False, comment="the one entity this term resolves to"),
    # Deferred: terms are claimed before the entity's row is written, in one sorted statement to avoid deadlocks.
    to_record("entity", deferrable=True, initially="DEFERRED"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("kind BETWEEN 1 AND 3", name="kind"),
    CheckConstraint("claimed OR kind <> 1", name="identifiers_are_claimed"),
    Index(
        "entity_term_claim_uq",
        "tenant",
        "scope",
        "sensitivity",
        "term_key",
        unique=True,
        postgresql_where=text("claimed"),
    ),
    Index("entity_term_entity_ix", "tenant", "entity"),
)
