"""Tenants, their interned scopes and predicates, credentials and data keys."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
)

from stratagraph.store.model.predicates import FORM
from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key

tenant = Table(
    "tenant",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("index_key", LargeBinary, nullable=False, comment="keys all term numbers and lookup hashes"),
    Column("wrapped_by", Text, comment="the master key that wraps index_key; none: it is plain"),
    Column("created_at", Instant, nullable=False, server_default=func.now()),
    CheckConstraint("wrapped_by IS NOT NULL OR octet_length(index_key) = 32", name="index_key"),
)

scope = Table(
    "scope",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("tenant", BigInteger, ForeignKey("tenant.id"), nullable=False),
    Column("name", Text, nullable=False, comment="'' is unscoped"),
    UniqueConstraint("tenant", "name"),
    UniqueConstraint("tenant", "id"),
)

predicate = Table(
    "predicate",
    metadata,
    tenant_key(),
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False),
    ForeignKeyConstraint(["tenant"], ["tenant.id"]),
    UniqueConstraint("tenant", "name"),
    CheckConstraint(f"name ~ '^{FORM}$'", name="name"),
)

free_predicate = Table(
    "free_predicate",
    metadata,
    Column("tenant", BigInteger, ForeignKey("tenant.id"), primary_key=True),
    Column("actor", Text, primary_key=True, comment="the caller's identity"),
    Column(
        "name",
        Text,
        primary_key=True,
        comment="of a relation, not in the registry; counted for the actor, whoever used it before",
    ),
)

credential = Table(
    "credential",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("tenant", BigInteger, ForeignKey("tenant.id"), nullable=False),
    Column("name", Text, nullable=False, comment="for people; also the actor of what it writes"),
    Column(
        "identity",
        Text,
        nullable=False,
        comment="whose the requests are, also beside other keys of the name; of a release without, the name itself",
    ),
    Column("secret_sha256", LargeBinary, nullable=False),
    Column("access", SmallInteger, nullable=False),
    Column("ceiling", SmallInteger, nullable=False),
    Column("all_scopes", Boolean, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("created_at", Instant, nullable=False, server_default=func.now()),
    Column("expires_at", Instant),
    Column("revoked_at", Instant),
    UniqueConstraint("tenant", "identity"),
    CheckConstraint("access BETWEEN 1 AND 3", name="access"),
    CheckConstraint("ceiling BETWEEN 0 AND 4", name="ceiling"),
    CheckConstraint("octet_length(secret_sha256) = 32", name="secret"),
)

data_key = Table(
    "data_key",
    metadata,
    tenant_key(),
    Column("id", Integer, primary_key=True, autoincrement=False, comment="named in every envelope it seals"),
    Column("wrapped", LargeBinary, nullable=False),
    Column("wrapped_by", Text, nullable=False, comment="the master key that wraps it"),
    Column("created_at", Instant, nullable=False, server_default=func.now()),
    ForeignKeyConstraint(["tenant"], ["tenant.id"]),
    CheckConstraint("id >= 1", name="id"),
)
