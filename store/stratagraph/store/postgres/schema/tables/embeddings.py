"""Vectors of records, and the models that made them: see `stratagraph.store.search.embeddings`."""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Identity,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    event,
)
from sqlalchemy.types import UserDefinedType

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key, to_record


class HalfVec(UserDefinedType[str]):
    """pgvector's vector of 16-bit floats, of any length, in its text form."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "halfvec"


# A model belongs to the whole database, like the setting that names it.
embedding_model = Table(
    "embedding_model",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False),
    Column("dimensions", Integer, nullable=False),
    Column(
        "state",
        SmallInteger,
        nullable=False,
        comment="1: existing records are being embedded; 2: all have a vector; 3: another model is configured",
    ),
    Column("nonce", Uuid, comment="that of the snapshot up to which the change log was followed"),
    Column("after_tenant", BigInteger),
    Column("after_id", Uuid),
    Column("records", BigInteger, nullable=False),
    Column("looked_at", BigInteger, nullable=False),
    Column("filled_at", Instant, comment="when all records first had a vector; null while vectors are missing"),
    UniqueConstraint("name", "dimensions"),
    CheckConstraint("dimensions BETWEEN 1 AND 4000", name="dimensions"),
    CheckConstraint("state BETWEEN 1 AND 3", name="state"),
)

# The index of a model is made by the job that fills it, because its form depends on the dimensions.
embedding = Table(
    "embedding",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("model", Integer, primary_key=True),
    Column(
        "vector",
        HalfVec,
        nullable=False,
        comment="of length 1, so that the inner product of two is their cosine",
    ),
    to_record(),
    ForeignKeyConstraint(["model"], ["embedding_model.id"]),
)
# A long vector is kept in its row too: comparing it reads one page, not those of a second table.
event.listen(
    embedding,
    "after_create",
    DDL("ALTER TABLE embedding ALTER vector SET STORAGE PLAIN"),  # type: ignore[no-untyped-call]  # not typed in SQLAlchemy
)
