"""The terms by which entities are found, and the entities whose names earlier records may hold."""

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
    text,
)

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key, to_record

# A term has the scope and sensitivity of the capture that taught it, which may differ from those of the entity.
entity_term = Table(
    "entity_term",
    metadata,
    tenant_key(),
    Column("term_key", LargeBinary, primary_key=True),
    Column("entity", Uuid, primary_key=True),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("kind", SmallInteger, nullable=False, comment="1 identifier, 2 name, 3 alias, 4 type"),
    Column("namespace_key", LargeBinary, comment="keyed hash of an identifier's namespace"),
    # Deferred: the terms of a new entity are written before the entity's row.
    to_record("entity", deferrable=True, initially="DEFERRED"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("kind BETWEEN 1 AND 4", name="kind"),
    CheckConstraint("kind = 1 OR namespace_key IS NULL", name="namespace"),
    Index(
        "entity_term_identifier_uq",
        "tenant",
        "scope",
        "sensitivity",
        "term_key",
        unique=True,
        postgresql_where=text("kind = 1"),
    ),
    Index("entity_term_entity_ix", "tenant", "entity"),
    # The entities of one group with a name that very many entities of other groups may have.
    Index(
        "entity_term_name_ix",
        "tenant",
        "scope",
        "sensitivity",
        "term_key",
        "entity",
        postgresql_where=text("kind IN (2, 3)"),
    ),
)

link_request = Table(
    "link_request",
    metadata,
    tenant_key(),
    Column("entity", Uuid, primary_key=True),
    Column("queued_at", Instant, nullable=False),
    Column("next_try_at", Instant, nullable=False),
    to_record("entity"),
    Index("link_request_next_try_at_ix", "next_try_at"),
)
