"""Records to be compared with others that may say the same, and the pairs of them to be decided on."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key, to_record

# New and changed entities and facts, which have not been compared yet.
duplicate_due = Table(
    "duplicate_due",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column(
        "about", Uuid, nullable=False, comment="the entity itself, or that which the fact is about, if one is known"
    ),
    Column(
        "has_keys",
        Boolean,
        nullable=False,
        comment="whether `duplicate_key` has the keys of its present name; true for a fact, which has none",
    ),
    to_record(),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    # An entity is compared together with what is said of it.
    Index("duplicate_due_group_ix", "tenant", "scope", "sensitivity", "about", "id"),
    Index("duplicate_due_keyless_ix", "tenant", "id", postgresql_where=text("NOT has_keys")),
)

# The keys of entities' names, by which others with a similar name are found. No text: keys are hashes.
duplicate_key = Table(
    "duplicate_key",
    metadata,
    tenant_key(),
    Column("key", BigInteger, primary_key=True, comment="keyed hash of a part of the name, and of the group"),
    Column("entity", Uuid, primary_key=True),
    to_record("entity"),
    Index("duplicate_key_entity_ix", "tenant", "entity"),
)

# Two records of one type, scope and sensitivity, in the order of their ids.
duplicate_pair = Table(
    "duplicate_pair",
    metadata,
    tenant_key(),
    Column("one", Uuid, primary_key=True),
    Column("other", Uuid, primary_key=True),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("state", SmallInteger, nullable=False, comment="1: to be decided on; 2: rejected"),
    Column("score", Float, nullable=False),
    Column(
        "minus_score",
        Float,
        Computed("-score", persisted=True),
        comment="by which the pairs are listed, in one direction with their ids",
    ),
    Column("evidence", JSONB, nullable=False, comment="kinds of signals and their weights, no text of a record"),
    Column("at", Instant, nullable=False, comment="when it was found, or rejected"),
    Column("writer", Text, comment="the actor that captured the newer record; null: rejected, or not compared since"),
    to_record("one"),
    to_record("other"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("one < other", name="order"),
    CheckConstraint("state BETWEEN 1 AND 2", name="state"),
    CheckConstraint("score BETWEEN 0 AND 1", name="score"),
    Index("duplicate_pair_other_ix", "tenant", "other"),
    # Those of one writer, the likeliest first: there is a bound on their number.
    Index(
        "duplicate_pair_writer_ix",
        "tenant",
        "scope",
        "sensitivity",
        "writer",
        "minus_score",
        "one",
        "other",
        postgresql_where=text("state = 1"),
    ),
    # The likeliest of a scope and sensitivity, and of a sensitivity for callers with all scopes.
    Index(
        "duplicate_pair_scope_ix",
        "tenant",
        "scope",
        "sensitivity",
        "minus_score",
        "one",
        "other",
        postgresql_where=text("state = 1"),
    ),
    Index(
        "duplicate_pair_level_ix",
        "tenant",
        "sensitivity",
        "minus_score",
        "one",
        "other",
        postgresql_where=text("state = 1"),
    ),
)

# One row: how far the change feed was followed for `duplicate_due`, and the existing records while these are queued.
duplicate_progress = Table(
    "duplicate_progress",
    metadata,
    Column("is_only", Boolean, primary_key=True, server_default=text("true")),
    Column("is_filling", Boolean, nullable=False, comment="whether existing records are left to be queued"),
    Column("after_tenant", BigInteger, comment="the last record that was queued; none: no record was"),
    Column("after_id", Uuid),
    Column("nonce", Uuid, comment="that of the snapshot up to which the change log was followed"),
    CheckConstraint("is_only", name="is_only"),
)
