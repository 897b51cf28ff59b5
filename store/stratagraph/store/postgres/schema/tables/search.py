"""The index and the statistics of word search, and the changes to them.

Transactions of writers append changes, and one job adds these to the statistics: see
`stratagraph.store.search.word_counts`. The statistics have no foreign keys, because the job would wait for the row of
a tenant that is being erased, and the erasure for the job's rows.
"""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    DDL,
    BigInteger,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Uuid,
    event,
    text,
)

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key

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
        comment="1: a record with these terms was written; -1: it was deleted or has other terms now; 0: not counted",
    ),
    Column("terms", ARRAY(Integer), nullable=False),
    Column("record", Uuid, nullable=False),
    CheckConstraint("step BETWEEN -1 AND 1", name="step"),
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

# How the words of records are packed is described in `stratagraph.store.search.word_segments`.
word_segment = Table(
    "word_segment",
    metadata,
    tenant_key(),
    Column(
        "id",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        server_default=text("(random() * 9007199254740992)::bigint"),
        comment="random, so that none is used again after a restore",
    ),
    Column("records", Integer, nullable=False),
    Column("buckets", Integer, nullable=False),
    Column("version", Integer, nullable=False, server_default=text("0"), comment="a new random number with `removed`"),
    Column(
        "removed", ARRAY(Integer), nullable=False, server_default=text("'{}'"), comment="positions of former records"
    ),
    Column("purge_at", Instant, comment="when the segment is to be written again without the removed records"),
    Column("first_id", Uuid, nullable=False),
    Column("last_id", Uuid, nullable=False),
    Column("groups", LargeBinary, nullable=False),
    Column("ids", LargeBinary, nullable=False),
    Column("bounded", LargeBinary, nullable=False, comment="positions of facts with a validity, and its bounds"),
    Index("word_segment_purge_ix", "purge_at", postgresql_where=text("purge_at IS NOT NULL")),
)

word_block = Table(
    "word_block",
    metadata,
    Column("tenant", BigInteger, nullable=False),
    Column("segment", BigInteger, nullable=False),
    Column("bucket", Integer, nullable=False, comment="the terms whose number modulo the segment's buckets is this"),
    Column("postings", LargeBinary, nullable=False),
    PrimaryKeyConstraint("tenant", "segment", "bucket"),
    postgresql_with={"toast_tuple_target": 8160},  # most blocks stay in their row, so a search reads one page for each
)

# Numbers hardly compress.
for _column in (word_segment.c.groups, word_segment.c.ids, word_segment.c.bounded, word_block.c.postings):
    event.listen(
        _column.table,
        "after_create",
        DDL(f"ALTER TABLE {_column.table.name} ALTER {_column.name} SET STORAGE EXTERNAL"),  # type: ignore[no-untyped-call]  # not typed in SQLAlchemy
    )
