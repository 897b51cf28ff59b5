"""Facts: their predicates, the slots that detect contradictions, what identifies a fact, and trims of its validity.

See docs/data-model.md, Facts.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import TSTZRANGE

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key, to_record

fact_predicate = Table(
    "fact_predicate",
    metadata,
    tenant_key(),
    Column("predicate", Text, primary_key=True),
    Column("single_valued", Boolean, nullable=False),
    Column("object_kind", Text),
    CheckConstraint("object_kind IN ('entity', 'literal')", name="object_kind"),
)

fact_slot = Table(
    "fact_slot",
    metadata,
    tenant_key(),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("slot_key", LargeBinary, primary_key=True),
    Column("single_valued", Boolean, nullable=False),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    # Facts copy the flag through a foreign key on all five columns, so that all facts of a slot agree on it.
    UniqueConstraint("tenant", "scope", "sensitivity", "slot_key", "single_valued"),
)

# From these columns a merge computes the keys of a fact again, without reading its content.
fact = Table(
    "fact",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("subject_entity", Uuid),
    Column("subject_key", LargeBinary, comment="keyed hash of a subject that is no entity"),
    Column("subject_is_ambiguous", Boolean, nullable=False),
    Column("predicate_key", LargeBinary, nullable=False),
    Column("object_entity", Uuid),
    Column("value_key", LargeBinary, comment="keyed hash of an object that is no entity"),
    Column("stated_key", LargeBinary, nullable=False),
    Column("stated", TSTZRANGE, nullable=False, comment="validity as stated; record.validity is the effective one"),
    Column("evidence_at", Instant, nullable=False, comment="time of its latest evidence"),
    Column("scope", Integer, nullable=False, comment="that of its record"),
    Column("sensitivity", SmallInteger, nullable=False, comment="that of its record"),
    to_record(),
    CheckConstraint("num_nonnulls(subject_entity, subject_key) = 1", name="subject"),
    CheckConstraint("num_nonnulls(object_entity, value_key) = 1", name="object"),
    # What says the same of one subject in one group is found among very many facts about it.
    Index(
        "fact_subject_ix",
        "tenant",
        "subject_entity",
        "scope",
        "sensitivity",
        "object_entity",
        "value_key",
        "id",
        postgresql_where=text("subject_entity IS NOT NULL"),
    ),
    Index("fact_subject_key_ix", "tenant", "subject_key", postgresql_where=text("subject_key IS NOT NULL")),
    Index(
        "fact_object_ix",
        "tenant",
        "object_entity",
        "scope",
        "sensitivity",
        "id",
        postgresql_where=text("object_entity IS NOT NULL"),
    ),
)

fact_trim = Table(
    "fact_trim",
    metadata,
    tenant_key(),
    Column("fact", Uuid, primary_key=True),
    Column("by_fact", Uuid, primary_key=True),
    Column("side", SmallInteger, primary_key=True, autoincrement=False, comment="1 where it begins, 2 where it ends"),
    Column("at", Instant, nullable=False),
    to_record("fact"),
    to_record("by_fact"),
    CheckConstraint("side BETWEEN 1 AND 2", name="side"),
    Index("fact_trim_by_ix", "tenant", "by_fact"),
)
