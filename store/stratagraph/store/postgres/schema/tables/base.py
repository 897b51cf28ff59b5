"""The metadata of all tables, the names of constraints, and column types that SQLAlchemy lacks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, MetaData
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.types import UserDefinedType

from stratagraph.store.model.words import DIMENSIONS

metadata = MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_ix",
        "uq": "%(table_name)s_%(column_0_N_name)s_uq",
        "ck": "%(table_name)s_%(constraint_name)s_ck",
        "fk": "%(table_name)s_%(column_0_N_name)s_fk",
        "pk": "%(table_name)s_pk",
    }
)

Instant = TIMESTAMP(timezone=True)


class SparseVec(UserDefinedType[str]):
    """pgvector's sparse vector, in its text form."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return f"sparsevec({DIMENSIONS})"


class Xid8(UserDefinedType[str]):
    """PostgreSQL's 64-bit transaction id, which never wraps around."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "xid8"


class PgSnapshot(UserDefinedType[str]):
    """PostgreSQL's snapshot: which transactions were visible at one instant."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "pg_snapshot"


def tenant_key() -> Column[int]:
    """Return a column `tenant` for the first place of a table's primary key."""
    return Column("tenant", BigInteger, primary_key=True, autoincrement=False)


def to_record(column: str = "id", *, ondelete: str = "CASCADE", **options: Any) -> ForeignKeyConstraint:
    """Return a foreign key from `column` to a record of the same tenant."""
    return ForeignKeyConstraint(["tenant", column], ["record.tenant", "record.id"], ondelete=ondelete, **options)
