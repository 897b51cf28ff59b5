"""Records and their history, salience and its history, and relations."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSTZMULTIRANGE, TSTZRANGE, ExcludeConstraint
from sqlalchemy.schema import SchemaItem

from stratagraph.store.postgres.schema.tables.base import Instant, SparseVec, metadata, tenant_key, to_record


def content() -> tuple[SchemaItem, ...]:
    """Return the content columns of a record: six plain ones and one for a sealed blob that replaces them.

    See docs/data-model.md, Encryption.
    """
    return (
        Column("name", Text),
        Column("text", Text),
        Column("payload", JSONB),
        Column("provenance", JSONB),
        Column("interpretation", JSONB),
        Column(
            "learned_state",
            JSONB,
            comment="what was observed of a learned skill or plan, of which its payload is made; no caller writes it",
        ),
        Column("sealed", LargeBinary, comment="an AES-256-GCM envelope that holds all six instead"),
        CheckConstraint(
            "CASE WHEN sealed IS NULL"
            " THEN num_nulls(name, text, payload, provenance) = 0"
            " ELSE num_nonnulls(name, text, payload, provenance, interpretation, learned_state) = 0 END",
            name="content",
        ),
    )


record = Table(
    "record",
    metadata,
    Column("tenant", BigInteger, nullable=False),
    Column("id", Uuid, nullable=False),
    Column("type", SmallInteger, nullable=False),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("tags", ARRAY(Text), nullable=False),
    *content(),
    Column("created_at", Instant, nullable=False),
    Column("occurred_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("version", Integer, nullable=False),
    Column("row_version", BigInteger, nullable=False),
    Column("handle_key", LargeBinary, comment="keyed hash of plan_id, skill_name or thread_id"),
    Column("fact_key", LargeBinary),
    Column("slot_key", LargeBinary),
    Column("condition_key", LargeBinary),
    Column("single_valued", Boolean),
    Column("validity", TSTZRANGE),
    Column("terms", ARRAY(Integer), nullable=False),
    Column("impacts", SparseVec, nullable=False),
    Column("lesson_key", LargeBinary, comment="keyed hash of the task of a lesson; null for any other record"),
    Column(
        "lesson_authors",
        ARRAY(Text),
        comment="identities of those who wrote a lesson's advice, first who learned it; null for any other record",
    ),
    Column(
        "version_key",
        LargeBinary,
        comment="keyed hash of the version of a skill or plan; null for any other record",
    ),
    Column("named_times", TSTZMULTIRANGE, comment="times that the text of an event names; null without"),
    # The key's index includes the columns by which traversal filters, so that a hop reads no heap pages.
    PrimaryKeyConstraint("tenant", "id", postgresql_include=["scope", "sensitivity", "state"]),
    ForeignKeyConstraint(["tenant", "scope"], ["scope.tenant", "scope.id"]),
    ForeignKeyConstraint(
        ["tenant", "scope", "sensitivity", "slot_key", "single_valued"],
        [
            "fact_slot.tenant",
            "fact_slot.scope",
            "fact_slot.sensitivity",
            "fact_slot.slot_key",
            "fact_slot.single_valued",
        ],
        onupdate="CASCADE",
        name="record_slot_fk",
    ),
    CheckConstraint("type BETWEEN 1 AND 6", name="type"),
    CheckConstraint("sensitivity BETWEEN 0 AND 4", name="sensitivity"),
    CheckConstraint("state BETWEEN 1 AND 4", name="state"),
    CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
    CheckConstraint("version >= 1 AND row_version >= 1", name="versions"),
    CheckConstraint("lesson_key IS NULL OR type = 5", name="lesson"),
    CheckConstraint("version_key IS NULL OR type IN (5, 6)", name="procedure"),
    CheckConstraint(
        "(type = 4) = (fact_key IS NOT NULL) AND (type = 4) = (slot_key IS NOT NULL)"
        " AND (type = 4) = (condition_key IS NOT NULL) AND (type = 4) = (single_valued IS NOT NULL)"
        " AND (type = 4) = (validity IS NOT NULL)",
        name="fact_keys",
    ),
    Index(
        "record_active_fact_uq",
        "tenant",
        "scope",
        "sensitivity",
        "fact_key",
        unique=True,
        postgresql_where=text("type = 4 AND state = 1"),
    ),
    ExcludeConstraint(
        ("tenant", "="),
        ("scope", "="),
        ("sensitivity", "="),
        ("slot_key", "="),
        ("condition_key", "="),
        ("validity", "&&"),
        using="gist",
        where=text("state = 1 AND single_valued"),
        name="record_single_value_excl",
    ),
    # A new fact is compared with the contested facts of its slot, which are few beside all of the slot's history.
    Index(
        "record_contested_fact_ix",
        "tenant",
        "scope",
        "sensitivity",
        "slot_key",
        "fact_key",
        postgresql_where=text("type = 4 AND state = 2"),
    ),
    Index(
        "record_named_times_ix",
        "tenant",
        "scope",
        "sensitivity",
        "named_times",
        postgresql_using="gist",
        postgresql_where=text("named_times IS NOT NULL"),
    ),
    # With the id, so that the last facts of a slot are found without its whole history.
    Index("record_slot_ix", "tenant", "scope", "sensitivity", "slot_key", "id", postgresql_where=text("type = 4")),
    Index("record_handle_ix", "tenant", "handle_key", postgresql_where=text("handle_key IS NOT NULL")),
    # One working record per thread, scope and sensitivity, so that callers with less trust neither see nor block it.
    Index(
        "record_working_uq",
        "tenant",
        "scope",
        "sensitivity",
        "handle_key",
        unique=True,
        postgresql_where=text("type = 2 AND state = 1"),
    ),
    # The newest records of a scope and sensitivity, or of a sensitivity for callers with all scopes, with no other
    # records between them: by when they occurred, and by when they were written, for searches of the past. The latter
    # have the bytes of the id, in the same order: with the id itself, the planner takes them for look-ups of ids.
    Index("record_scope_recent_ix", "tenant", "scope", "sensitivity", text("occurred_at DESC"), text("id DESC")),
    Index("record_level_recent_ix", "tenant", "sensitivity", text("occurred_at DESC"), text("id DESC")),
    Index("record_scope_written_ix", "tenant", "scope", "sensitivity", text("uuid_send(id) DESC")),
    Index("record_level_written_ix", "tenant", "sensitivity", text("uuid_send(id) DESC")),
    # The included columns are also what traversal must know of a record, so that a hop reads no heap pages.
    Index(
        "record_listed_ix",
        "tenant",
        text("id DESC"),
        postgresql_include=["scope", "sensitivity", "type", "state", "validity"],
    ),
    # The same by the last change, for lists and for what changed since an instant.
    Index(
        "record_updated_ix",
        "tenant",
        text("updated_at DESC"),
        text("id DESC"),
        postgresql_include=["scope", "sensitivity", "type", "state"],
    ),
    Index("record_contested_ix", "tenant", text("id DESC"), postgresql_where=text("state = 2")),
    # The current lessons of a scope and sensitivity, and of a sensitivity for callers with all scopes, newest first.
    Index(
        "record_scope_lesson_ix",
        "tenant",
        "scope",
        "sensitivity",
        text("occurred_at DESC"),
        text("id DESC"),
        postgresql_where=text("lesson_key IS NOT NULL AND state <= 2"),
    ),
    Index(
        "record_level_lesson_ix",
        "tenant",
        "sensitivity",
        text("occurred_at DESC"),
        text("id DESC"),
        postgresql_where=text("lesson_key IS NOT NULL AND state <= 2"),
    ),
    Index(
        "record_terms_ix",
        "terms",
        postgresql_using="gin",
        postgresql_with={"fastupdate": "on", "gin_pending_list_limit": 512},
    ),
    # Names and aliases with a typo are found by their trigrams; sealed ones are not in the columns.
    Index(
        "record_name_ix",
        "tenant",
        text("(name || ' ' || jsonb_path_query_array(payload, '$.aliases[*].value')::text) gin_trgm_ops"),
        postgresql_using="gin",
        postgresql_where=text("type = 3"),
    ),
)

record_history = Table(
    "record_history",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("row_version", BigInteger, primary_key=True, autoincrement=False),
    Column("from_at", Instant, nullable=False),
    Column("to_at", Instant, nullable=False),
    Column("type", SmallInteger, nullable=False),
    Column("scope", Integer, nullable=False),
    Column("sensitivity", SmallInteger, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("tags", ARRAY(Text), nullable=False),
    *content(),
    Column("occurred_at", Instant, nullable=False),
    Column("version", Integer, nullable=False),
    Column("terms", ARRAY(Integer), nullable=False),
    Column("impacts", SparseVec, nullable=False),
    Column("validity", TSTZRANGE, comment="null for a fact that an earlier release wrote"),
    to_record(),
    CheckConstraint("from_at < to_at", name="span"),
    Index(
        "record_history_terms_ix",
        "terms",
        postgresql_using="gin",
        postgresql_with={"fastupdate": "on", "gin_pending_list_limit": 512},
    ),
)

salience = Table(
    "salience",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("s", Float, nullable=False),
    Column("t0", Instant, nullable=False),
    Column("curve", SmallInteger, nullable=False),
    Column("half_life_s", Float, nullable=False),
    Column("min_salience", Float, nullable=False),
    Column("max_age_s", Float),
    Column("reinforcement_gain", Float, nullable=False),
    Column("params", JSONB),
    Column("pinned", Boolean, nullable=False),
    Column("deletion_policy", SmallInteger, nullable=False),
    Column("due_at", Instant),
    Column("last_reinforced_at", Instant),
    Column(
        "check_at",
        Instant,
        comment="not pruned before: a current record referred to the entity; its pruning ends the wait",
    ),
    to_record(),
    CheckConstraint("s BETWEEN 0 AND 1", name="s"),
    CheckConstraint("curve BETWEEN 1 AND 3", name="curve"),
    CheckConstraint("half_life_s >= 1", name="half_life"),
    CheckConstraint("min_salience BETWEEN 0 AND 1", name="floor"),
    CheckConstraint("max_age_s >= 1", name="max_age"),
    CheckConstraint("deletion_policy BETWEEN 1 AND 3", name="deletion_policy"),
    Index("salience_due_ix", text("greatest(due_at, check_at)"), postgresql_where=text("due_at IS NOT NULL")),
    Index("salience_tenant_due_ix", "tenant", "due_at", "id", postgresql_where=text("due_at IS NOT NULL")),
)

lifecycle_history = Table(
    "lifecycle_history",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("to_at", Instant, primary_key=True, comment="until when it decayed like this"),
    Column("curve", SmallInteger, nullable=False),
    Column("half_life_s", Float, nullable=False),
    Column("min_salience", Float, nullable=False),
    Column("max_age_s", Float),
    Column("reinforcement_gain", Float, nullable=False),
    Column("params", JSONB),
    Column("pinned", Boolean, nullable=False),
    Column("deletion_policy", SmallInteger, nullable=False),
    to_record(),
)

_LIVE = text("ended_at IS NULL")
relation = Table(
    "relation",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("source", Uuid, nullable=False),
    Column("target", Uuid, nullable=False),
    Column("predicate", Integer, nullable=False),
    Column("weight", Float, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("ended_at", Instant, comment="relations never change; an end closes them"),
    Column("row_version", BigInteger, nullable=False),
    *(
        Column(
            f"{end}_past",
            Boolean,
            nullable=False,
            server_default=text("false"),
            comment=f"true only where the {end} is superseded or retracted; may be false there too",
        )
        for end in ("source", "target")
    ),
    *(
        Column(f"{end}_acl", Integer, comment=f"8 * scope + the least sensitivity of the {end}; null if not noted")
        for end in ("source", "target")
    ),
    *(
        Column(f"{end}_until", Instant, comment=f"the {end} does not hold from then on; null if not noted")
        for end in ("source", "target")
    ),
    ForeignKeyConstraint(["tenant", "predicate"], ["predicate.tenant", "predicate.id"]),
    to_record("source"),
    to_record("target"),
    CheckConstraint("weight BETWEEN 0 AND 1", name="weight"),
    Index(
        "relation_live_uq",
        "tenant",
        "source",
        "predicate",
        "target",
        unique=True,
        postgresql_where=_LIVE,
    ),
    # In both directions by descending weight, the order in which expansion reads them. Ended relations are included,
    # because deleting a record reads all its relations.
    Index(
        "relation_out_ix",
        "tenant",
        "source",
        text("weight DESC"),
        "id",
        postgresql_include=["target", "predicate", "ended_at"],
    ),
    Index(
        "relation_in_ix",
        "tenant",
        "target",
        text("weight DESC"),
        "id",
        postgresql_include=["source", "predicate", "ended_at"],
    ),
    # The same without relations to an end that is no longer current, which a hub may have many times as many of,
    # and with what tells that an end is hidden from a caller or has expired, so that these are passed over in the
    # index.
    Index(
        "relation_out_current_ix",
        "tenant",
        "source",
        text("weight DESC"),
        "id",
        postgresql_include=["target", "predicate", "target_acl", "target_until"],
        postgresql_where=text("ended_at IS NULL AND NOT target_past"),
    ),
    Index(
        "relation_in_current_ix",
        "tenant",
        "target",
        text("weight DESC"),
        "id",
        postgresql_include=["source", "predicate", "source_acl", "source_until"],
        postgresql_where=text("ended_at IS NULL AND NOT source_past"),
    ),
)
