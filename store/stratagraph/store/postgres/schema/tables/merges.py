"""Entities that were merged into others, and what each merge changed, so that it can be undone.

The content that a merge replaced is in `record_history`: these tables have the row versions, and no content.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
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

entity_merge = Table(
    "entity_merge",
    metadata,
    tenant_key(),
    Column("entity", Uuid, primary_key=True),
    Column("survivor", Uuid, nullable=False),
    Column("merged_at", Instant, nullable=False),
    Column("survivor_before", BigInteger, nullable=False, comment="row_version of the survivor before the merge"),
    Column("survivor_after", BigInteger, nullable=False, comment="its row_version after the merge"),
    to_record("entity"),
    to_record("survivor"),
    Index("entity_merge_survivor_ix", "tenant", "survivor", "merged_at"),
)


def _merged_entity() -> tuple[Column[Any], Column[Any], ForeignKeyConstraint]:
    """Return the columns that name the merge of a row: the tenant and the entity that was merged away."""
    return (
        tenant_key(),
        Column("entity", Uuid, primary_key=True),
        ForeignKeyConstraint(["tenant", "entity"], ["entity_merge.tenant", "entity_merge.entity"], ondelete="CASCADE"),
    )


# The terms of the merged entity, as they were before the merge.
entity_merge_term = Table(
    "entity_merge_term",
    metadata,
    *_merged_entity(),
    Column("term_key", LargeBinary, primary_key=True),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("kind", SmallInteger, nullable=False),
    Column("namespace_key", LargeBinary),
    Column("is_shared", Boolean, nullable=False, comment="whether the survivor had this term before the merge"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
)

# The facts that named the merged entity, the other facts whose content the merge changed, and the entity itself.
entity_merge_record = Table(
    "entity_merge_record",
    metadata,
    *_merged_entity(),
    Column("id", Uuid, primary_key=True),
    Column("is_subject", Boolean, nullable=False, comment="a fact whose subject the merged entity was"),
    Column("is_object", Boolean, nullable=False, comment="a fact whose object the merged entity was"),
    Column("before", BigInteger, nullable=False, comment="row_version before the merge"),
    Column(
        "after",
        BigInteger,
        nullable=False,
        comment="row_version after the merge; the same if the merge changed no content",
    ),
    Column("s", Float, nullable=False, comment="its salience before the merge"),
    Column("t0", Instant, nullable=False),
    Column("last_reinforced_at", Instant),
    Column(
        "is_decided",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="whether a revision since has decided that another record stands for it",
    ),
    to_record(),
    Index("entity_merge_record_id_ix", "tenant", "id"),
)

entity_merge_relation = Table(
    "entity_merge_relation",
    metadata,
    *_merged_entity(),
    Column("relation", Uuid, primary_key=True),
    Column("is_new", Boolean, nullable=False, comment="whether the merge inserted the relation; else it ended it"),
    ForeignKeyConstraint(["tenant", "relation"], ["relation.tenant", "relation.id"], ondelete="CASCADE"),
    Index("entity_merge_relation_relation_ix", "tenant", "relation"),
)

# The slots that the merge made single-valued, and in which nobody has asked for one value since.
entity_merge_slot = Table(
    "entity_merge_slot",
    metadata,
    *_merged_entity(),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("slot_key", LargeBinary, primary_key=True),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    Index("entity_merge_slot_slot_ix", "tenant", "scope", "sensitivity", "slot_key"),
)
