"""Statistics of word search, the changes to them, and the counter of document numbers.

Transactions of writers append changes, and one job adds these to the statistics: see
`stratagraph.store.search.word_counts`. The statistics have no foreign keys, because the job would wait for the row of
a tenant that is being erased, and the erasure for the job's rows.
"""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Identity,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
)

from stratagraph.store.postgres.tables.base import metadata, tenant_key

doc_counter = Table(
    "doc_counter",
    metadata,
    tenant_key(),
    Column("next", BigInteger, nullable=False),
    ForeignKeyConstraint(["tenant"], ["tenant.id"]),
)

word_change = Table(
    "word_change",
    metadata,
    tenant_key(),
    Column("seq", BigInteger, Identity(always=True), primary_key=True),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column(
        "step",
        SmallInteger,
        nullable=False,
        comment="1: a record with these terms was written; -1: it was deleted or has other terms now",
    ),
    Column("terms", ARRAY(Integer), nullable=False),
    CheckConstraint("step IN (-1, 1)", name="step"),
)

# `records` stands before `sensitivity`, which makes a row 8 bytes smaller.
word_count = Table(
    "word_count",
    metadata,
    Column("tenant", BigInteger, nullable=False),
    Column("term", Integer, nullable=False, comment="0 stands for every record, whatever its terms"),
    Column("scope", Integer, nullable=False),
    Column("records", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    PrimaryKeyConstraint("tenant", "term", "scope", "sensitivity"),
    CheckConstraint("records > 0", name="records"),
)

word_total = Table(
    "word_total",
    metadata,
    Column("tenant", BigInteger, nullable=False),
    Column("term", Integer, nullable=False),
    Column("records", Integer, nullable=False, comment="the sum of word_count over all scopes"),
    Column("sensitivity", SmallInteger, nullable=False),
    PrimaryKeyConstraint("tenant", "term", "sensitivity"),
    CheckConstraint("records > 0", name="records"),
)
