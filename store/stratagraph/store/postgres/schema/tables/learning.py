"""Learning: its runs, what they report and changed, what waits to become a skill or to be extracted, use of lessons.

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
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key, to_record

# The runs that are not finished, over all tenants: at most one of consolidation, which is resumed with its own instant
# and stages, and one to which what is read soon after its capture belongs.
learning_run = Table(
    "learning_run",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("began_at", Instant, nullable=False, comment="the run's now, also when it is resumed later"),
    Column("stages", ARRAY(Text), nullable=False),
    Column(
        "is_soon",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="it reads texts soon after their capture",
    ),
    Index("learning_run_uq", "is_soon", unique=True),
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
    Column(
        "is_soon",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="of a run that reads texts soon after their capture",
    ),
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

# The texts that a language model is to read or has read. A row stays then, so that no text is read twice.
extraction = Table(
    "extraction",
    metadata,
    tenant_key(),
    Column("record", Uuid, primary_key=True, comment="the record that holds the text"),
    Column("episode", Uuid, nullable=False, comment="whose texts are read together; the record itself without one"),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("state", SmallInteger, nullable=False, comment="1: to be read; 2: read; 3: set aside, to be read later"),
    Column("part", Integer, nullable=False, comment="the number of parts of a long text that have been read"),
    Column("attempts", Integer, nullable=False, comment="at the present part"),
    Column("is_alone", Boolean, nullable=False, comment="it is read by itself, because reading it with others failed"),
    Column("queued_at", Instant, nullable=False),
    Column("next_try_at", Instant, nullable=False, comment="later than it was queued if an attempt failed"),
    Column("owner", Text, comment="the server that reads it"),
    Column("lease_until", Instant, nullable=False, server_default=text("'-infinity'")),
    to_record("record"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("state BETWEEN 1 AND 3", name="state"),
    CheckConstraint("part >= 0 AND attempts >= 0", name="counts"),
    Index("extraction_next_try_at_ix", "next_try_at", "queued_at", postgresql_where=text("state <> 2")),
    Index("extraction_episode_ix", "tenant", "episode", "record", postgresql_where=text("state <> 2")),
)
lesson_use = Table(
    "lesson_use",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("retrievals", Integer, nullable=False, comment="since the payload was stored, which may have earlier ones"),
    Column("helpful", Integer, nullable=False, comment="those of them that helped"),
    Column("retrieved_at", Instant, nullable=False, comment="the last one"),
    to_record(),
    CheckConstraint("helpful BETWEEN 0 AND retrievals", name="counts"),
)
# Episodes by the tools that they used, as long as too few of them succeeded to make a skill.
learned_signature = Table(
    "learned_signature",
    metadata,
    tenant_key(),
    Column("episode", Uuid, primary_key=True),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("signature", LargeBinary, nullable=False, comment="keyed hash of the name of the skill"),
    Column("run", Uuid, nullable=False, comment="the run that learned from the episode"),
    to_record("episode"),
    CheckConstraint("sensitivity BETWEEN 0 AND 4", name="sensitivity"),
    Index("learned_signature_ix", "tenant", "scope", "sensitivity", "signature", "episode"),
)

# What the episodes of one run showed of a tool; what is known of the tool is the sum over the runs.
learned_tool = Table(
    "learned_tool",
    metadata,
    tenant_key(),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("tool", LargeBinary, primary_key=True, comment="keyed hash of its name"),
    Column("run", Uuid, primary_key=True),
    Column("evidence", JSONB, nullable=False, comment="counts of calls, by what they showed"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("sensitivity BETWEEN 0 AND 4", name="sensitivity"),
)

# What one episode showed of the words of a task and the tools that it needed; terms and names are keyed hashes.
# A row outlives its episode when that is pruned, as what was learned from it does, and is deleted when it is erased.
learned_example = Table(
    "learned_example",
    metadata,
    tenant_key(),
    Column("episode", Uuid, primary_key=True),
    Column("run", Uuid, primary_key=True, comment="the run that read the episode"),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("closed_at", Instant, nullable=False, comment="when the episode was closed"),
    Column("outcome", SmallInteger, nullable=False),
    Column("skill", LargeBinary, nullable=False, comment="handle key of the skill with these tools"),
    Column("plan", LargeBinary, nullable=False, comment="handle key of the plan with these tools"),
    Column("tools", LargeBinary, nullable=False, comment="keyed hashes of their names, 16 bytes each"),
    Column("terms", LargeBinary, nullable=False, comment="search terms of what the user said, 4 bytes each"),
    Column("counts", LargeBinary, nullable=False, comment="how often each term was said, 2 bytes each"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("sensitivity BETWEEN 0 AND 4", name="sensitivity"),
    CheckConstraint("octet_length(terms) = 2 * octet_length(counts)", name="counts"),
    Index("learned_example_group_ix", "tenant", "scope", "sensitivity", "closed_at", "episode", "run"),
)

# What the examples of a group say together: which tools a task needs, by its words.
learned_model = Table(
    "learned_model",
    metadata,
    tenant_key(),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("version", Uuid, nullable=False, comment="another one for each model"),
    Column("updated_at", Instant, nullable=False),
    Column("model", LargeBinary, nullable=False, comment="arrays of numbers and keyed hashes, of numpy"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("sensitivity BETWEEN 0 AND 4", name="sensitivity"),
    Index("learned_model_recent_ix", "tenant", "updated_at"),
)

# Skills and plans that a caller has retracted, by their names: learning does not make them again.
refused_procedure = Table(
    "refused_procedure",
    metadata,
    tenant_key(),
    Column("scope", Integer, primary_key=True, autoincrement=False),
    Column("sensitivity", SmallInteger, primary_key=True, autoincrement=False),
    Column("key", LargeBinary, primary_key=True, comment="handle key"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("sensitivity BETWEEN 0 AND 4", name="sensitivity"),
)
