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

# One row of a word holds its counts by scope and sensitivity. A word in many cells has one row for each 16 scopes
# instead, and in the first row the sums over all scopes, so that neither a search nor the job reads or writes more of a
# common word than it needs. A part is a share of the numbers of scopes, which tell nothing of the words.
word_count = Table(
    "word_count",
    metadata,
    Column("tenant", BigInteger, nullable=False),
    Column("term", Integer, nullable=False, comment="0 stands for every record, whatever its terms"),
    Column(
        "part",
        Integer,
        nullable=False,
        comment="-1: the word itself; n: its counts in the scopes 16 n to 16 n + 15, if it has many",
    ),
    Column(
        "cells",
        ARRAY(BigInteger),
        nullable=False,
        comment="(scope * 8 + sensitivity) * 2^29 + number of records, ascending; scope 0: a sum over all scopes",
    ),
    PrimaryKeyConstraint("tenant", "term", "part"),
    CheckConstraint("cardinality(cells) > 0", name="cells"),
)
