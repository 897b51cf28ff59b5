"""Runs of learning: what they report, and what they changed, so that it can be undone.

No table here has content: reports have numbers, and the log of changes names versions that `record_history` has.
"""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
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

# The run that is not finished, over all tenants: at most one row. It is resumed with its own instant and stages.
learning_run = Table(
    "learning_run",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("began_at", Instant, nullable=False, comment="the run's now, also when it is resumed later"),
    Column("stages", ARRAY(Text), nullable=False),
    Index("learning_run_uq", text("(true)"), unique=True),
)

# What a run did in one group; the number of these rows is that of groups with due episodes.
learning_report = Table(
    "learning_report",
    metadata,
    tenant_key(),
    Column("run", Uuid, primary_key=True),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("began_at", Instant, nullable=False, comment="the run's now"),
    Column("updated_at", Instant, nullable=False, comment="when its last batch was written"),
    Column("finished_at", Instant, comment="when the run was finished; null until then"),
    Column("batches", Integer, nullable=False),
    Column("episodes", Integer, nullable=False),
    Column("set_aside", Integer, nullable=False),
    Column("stages", JSONB, nullable=False, comment="the report of each stage by its name"),
    Column("undone_at", Instant),
    Column("undone_by", Text, comment="the actor"),
    Column("is_trimmed", Boolean, nullable=False, server_default=text("false"), comment="it cannot be undone any more"),
    Column("is_logged", Boolean, nullable=False, server_default=text("true"), comment="its log is not yet deleted"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("sensitivity BETWEEN 0 AND 4", name="sensitivity"),
    CheckConstraint("batches >= 0 AND episodes >= 0 AND set_aside >= 0", name="counts"),
    Index("learning_report_unfinished_ix", "run", postgresql_where=text("finished_at IS NULL")),
    Index("learning_report_trim_ix", "began_at", postgresql_where=text("is_logged")),
    Index("learning_report_old_ix", "began_at", postgresql_where=text("NOT is_logged AND undone_at IS NULL")),
)

# A record that a run created, changed, or gave another salience.
learning_change = Table(
    "learning_change",
    metadata,
    tenant_key(),
    Column("run", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("before", BigInteger, comment="row_version before the run; null if the run created the record"),
    Column("after", BigInteger, comment="row_version after the run; null if only its salience changed"),
    Column("s", Float, comment="its salience before the run; null if the run did not change it"),
    Column("t0", Instant),
    Column("last_reinforced_at", Instant),
    Column(
        "t0_after",
        Instant,
        comment="the instant of the run's last event of its salience; -infinity if others had one in between",
    ),
    Column("is_merged", Boolean, nullable=False, comment="an entity that the run merged into another one"),
    Column("is_mixed", Boolean, nullable=False, comment="changed by another writer between two batches of the run"),
    Column("kept", SmallInteger, comment="why undoing the run has left the record as it is; null before"),
    Column("is_entity", Boolean, nullable=False, server_default=text("false")),
    Column(
        "place",
        SmallInteger,
        Computed(
            "CASE WHEN is_merged THEN 1 WHEN before IS NOT NULL OR after IS NULL THEN 4"
            " WHEN is_entity THEN 3 ELSE 2 END",
            persisted=True,
        ),
        comment="in the order in which a run is undone: merged entities, created records, created entities, others",
    ),
    to_record(),
    CheckConstraint("(s IS NULL) = (t0 IS NULL) AND (s IS NULL) = (t0_after IS NULL)", name="salience"),
    CheckConstraint("kept BETWEEN 1 AND 4", name="kept"),
    Index("learning_change_record_ix", "tenant", "id"),
    Index("learning_change_undo_ix", "tenant", "run", "place", text("id DESC"), postgresql_where=text("kept IS NULL")),
)

# A relation between records that existed before the run, which the run inserted or ended.
learning_relation = Table(
    "learning_relation",
    metadata,
    tenant_key(),
    Column("run", Uuid, primary_key=True),
    Column("relation", Uuid, primary_key=True),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("is_new", Boolean, nullable=False, comment="whether the run inserted the relation; else it ended it"),
    ForeignKeyConstraint(["tenant", "relation"], ["relation.tenant", "relation.id"], ondelete="CASCADE"),
    Index("learning_relation_relation_ix", "tenant", "relation"),
)
