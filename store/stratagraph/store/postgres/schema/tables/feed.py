"""The change feed (log, snapshots, cursors, workers) and the state of the mirrors that follow it."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    Identity,
    Index,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import CHAR, JSONB

from stratagraph.store.postgres.schema.tables.base import Instant, PgSnapshot, Xid8, metadata

sync_log = Table(
    "sync_log",
    metadata,
    Column("shard", SmallInteger, nullable=False),
    Column("xid", Xid8, nullable=False, server_default=func.pg_current_xact_id()),
    Column("seq", BigInteger, Identity(always=True), nullable=False),
    Column("day", Date, nullable=False, server_default=text("CURRENT_DATE")),
    Column("tenant", BigInteger, nullable=False),
    Column("kind", SmallInteger, nullable=False, comment="1 record, 2 relation, 3 run of learning"),
    Column("id", Uuid, nullable=False),
    Column("version", BigInteger, nullable=False, comment="the row_version written"),
    Column("op", CHAR(1), nullable=False, comment="U upsert, D delete, R repair"),
    Column(
        "began_at",
        Instant,
        server_default=func.now(),
        comment="when the writer's transaction began; null for a change that an earlier release wrote",
    ),
    # By these, a reader of changes knows who could see what is no longer there.
    Column("scope", Integer, comment="of a record that was deleted or raised, and of a run; null otherwise"),
    Column(
        "sensitivity",
        SmallInteger,
        comment="that a deleted or raised record had before, and of a run; null otherwise",
    ),
    Column("raised_to", SmallInteger, comment="the sensitivity that the change gave a record; null if it gave none"),
    Column("source", Uuid, comment="of an open relation that was deleted; null otherwise"),
    Column("target", Uuid, comment="of an open relation that was deleted; null otherwise"),
    PrimaryKeyConstraint("shard", "xid", "seq", "day"),
    CheckConstraint("kind BETWEEN 1 AND 3", name="kind"),
    CheckConstraint("op IN ('U', 'D', 'R')", name="op"),
    postgresql_partition_by="RANGE (day)",
)

sync_snapshot = Table(
    "sync_snapshot",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("snap", PgSnapshot, nullable=False),
    Column("at", Instant, nullable=False, server_default=func.clock_timestamp()),
    Column("nonce", Uuid, nullable=False, server_default=func.gen_random_uuid()),
    Index("sync_snapshot_at_ix", "at"),
)

sync_cursor = Table(
    "sync_cursor",
    metadata,
    Column("consumer", Text, primary_key=True),
    Column(
        "shard",
        SmallInteger,
        primary_key=True,
        autoincrement=False,
        comment="the first of the shards that this cursor reads",
    ),
    Column("snapshot", BigInteger, nullable=False, comment="every change that this snapshot sees is applied"),
    Column("window_snapshot", BigInteger, comment="the end of the window being read"),
    Column(
        "window_seq",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        comment="the last applied change of the window being read",
    ),
    Column("owner", Text),
    Column("epoch", BigInteger, nullable=False, server_default=text("0")),
    Column("lease_until", Instant, nullable=False, server_default=text("'-infinity'")),
    Column(
        "rereads",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="may be deleted: its consumer reads everything again",
    ),
)

sync_feed = Table(
    "sync_feed",
    metadata,
    Column("one", Boolean, primary_key=True, server_default=text("true")),
    Column("incarnation", Text, comment="system identifier, timeline, database oid"),
    CheckConstraint("one", name="one"),
)

sync_worker = Table(
    "sync_worker",
    metadata,
    Column("consumer", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("alive_until", Instant, nullable=False),
    Column("followed_at", Instant, comment="when it last completed a pass over the feed; null before the first"),
)

sync_dead_letter = Table(
    "sync_dead_letter",
    metadata,
    Column("consumer", Text, primary_key=True),
    Column("tenant", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", SmallInteger, primary_key=True, autoincrement=False),
    Column("id", Uuid, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("error", Text, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("next_try", Instant, nullable=False),
)

mirror_generation = Table(
    "mirror_generation",
    metadata,
    Column("mirror", Text, primary_key=True),
    Column("generation", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False),
    Column("incarnation", Text, nullable=False, comment="system identifier, timeline, database oid"),
    Column("started_at", Instant, nullable=False, server_default=func.clock_timestamp()),
    Column("completed_at", Instant),
    Column("tenant", BigInteger, comment="the tenant whose rows are rewritten; null for all tenants"),
    Column("reason", Text, nullable=False, server_default=text("''")),
    Column("done", BigInteger, nullable=False, server_default=text("0"), comment="rows written"),
    Column("total", BigInteger, comment="estimated number of rows when it began"),
    Column("rewound_at", Instant, comment="when an old copy of the mirror was last found and rewound"),
    Column(
        "rewound_until",
        BigInteger,
        comment="the snapshot whose changes must all be applied before the mirror answers again",
    ),
    Column("rewound_changes", BigInteger, comment="changes in the log that the copy lacked"),
    CheckConstraint("state IN ('building', 'refreshing', 'rewinding', 'active', 'retired')", name="state"),
)

mirror_leader = Table(
    "mirror_leader",
    metadata,
    Column("mirror", Text, primary_key=True),
    Column("owner", Text),
    Column("epoch", BigInteger, nullable=False, server_default=text("0")),
    Column("lease_until", Instant, nullable=False, server_default=text("'-infinity'")),
    Column(
        "checked_kind",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        comment="what the running scrub compares: 0 constraints, 1 nodes, 2 relationships, 3 records, 4 relations",
    ),
    Column(
        "checked_tenant",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        comment="of the key after which the running scrub continues; of nodes and relationships the next internal id",
    ),
    Column("checked_id", Uuid, comment="the key after which the running scrub continues"),
    Column("check_began_at", Instant),
    Column(
        "drift",
        JSONB,
        nullable=False,
        server_default=text("'{}'"),
        comment="differences found by the running scrub, by class",
    ),
    Column(
        "check_rows",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        comment="rows, nodes and relationships that the running scrub has compared",
    ),
    Column("last_check_began_at", Instant, comment="when the last complete scrub began"),
    Column("last_checked_at", Instant, comment="when the last complete scrub ended"),
    Column("last_check_rows", BigInteger, comment="rows, nodes and relationships that it compared"),
    Column("last_drift", JSONB, comment="differences found by the last complete scrub, by class"),
    Column(
        "damaged_at",
        Instant,
        comment="when differences were last found; null if a scrub that began later found none",
    ),
    Column(
        "repaired_by",
        Xid8,
        comment="a transaction after which the repairs of all that was found are logged; null while some are not",
    ),
    Column(
        "needs_scrub",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="whether so much was found that the mirror must not answer before a complete scrub finds nothing",
    ),
    Column(
        "maintained_at",
        Instant,
        comment="when a leader last completed a pass of maintenance, or a page of a rebuild",
    ),
)
