"""Statistics of word search, and the counter of document numbers.

One consumer of the change feed writes the statistics; transactions of writers never do.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, Integer, Table

from stratagraph.store.postgres.tables.base import metadata, tenant_key

doc_counter = Table(
    "doc_counter",
    metadata,
    tenant_key(),
    Column("next", BigInteger, nullable=False),
    ForeignKeyConstraint(["tenant"], ["tenant.id"]),
)

lex_df = Table(
    "lex_df",
    metadata,
    tenant_key(),
    Column("term", Integer, primary_key=True, autoincrement=False),
    Column("df", BigInteger, nullable=False),
)

lex_stat = Table("lex_stat", metadata, tenant_key(), Column("docs", BigInteger, nullable=False))

lex_scope = Table(
    "lex_scope",
    metadata,
    tenant_key(),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("docs", BigInteger, nullable=False),
)
