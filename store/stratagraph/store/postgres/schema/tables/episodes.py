"""Episodes of threads and their events, one row per event, so that appending to a long episode costs no more."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
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
    Uuid,
    text,
)

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key, to_record

episode = Table(
    "episode",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("thread_key", LargeBinary, nullable=False),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("opened_at", Instant, nullable=False),
    Column("closes_at", Instant, nullable=False, comment="when silence closes it"),
    Column("closed_at", Instant),
    Column("outcome", SmallInteger),
    Column("events", Integer, nullable=False),
    Column("last_record", Uuid),
    Column(
        "learned_at",
        Instant,
        comment="when all stages of learning had read the closed episode; until then nothing of it is pruned",
    ),
    Column("learned_by", Uuid, comment="the run of the last stage that has read it"),
    Column("learned_stages", ARRAY(Text), nullable=False, server_default=text("'{}'"), comment="that have read it"),
    Column("learn_after", Instant, comment="not read by learning before, because it failed"),
    Column(
        "awaits_skill",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="learned from, but its skill is not made yet",
    ),
    Column("learned_events", Integer, comment="members that it had when a stage of learning last read it"),
    # Deferred: the first capture of a thread claims its open episode before the episode's record is written.
    to_record(deferrable=True, initially="DEFERRED"),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    CheckConstraint("outcome BETWEEN 1 AND 3", name="outcome"),
    CheckConstraint("events >= 0", name="events"),
    Index(
        "episode_open_uq",
        "tenant",
        "scope",
        "sensitivity",
        "thread_key",
        unique=True,
        postgresql_where=text("closed_at IS NULL"),
    ),
    Index("episode_thread_ix", "tenant", "thread_key", text("opened_at DESC")),
    Index(
        "episode_unlearned_ix",
        "tenant",
        "scope",
        "sensitivity",
        "closed_at",
        "id",
        postgresql_where=text("closed_at IS NOT NULL AND learned_at IS NULL"),
    ),
    Index("episode_learned_by_ix", "tenant", "learned_by", postgresql_where=text("learned_by IS NOT NULL")),
    Index("episode_closes_ix", "closes_at", postgresql_where=text("closed_at IS NULL")),
)

episode_event = Table(
    "episode_event",
    metadata,
    tenant_key(),
    Column("episode", Uuid, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False, comment="order of arrival"),
    Column("record", Uuid, nullable=False),
    Column("call_key", LargeBinary, comment="keyed hash of a tool call's id, for depends_on"),
    ForeignKeyConstraint(["tenant", "episode"], ["episode.tenant", "episode.id"], ondelete="CASCADE"),
    to_record("record"),
    Index(
        "episode_event_call_ix",
        "tenant",
        "episode",
        "call_key",
        postgresql_where=text("call_key IS NOT NULL"),
    ),
    Index("episode_event_record_ix", "tenant", "record"),
)
