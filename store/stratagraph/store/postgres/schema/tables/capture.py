"""Capture candidates, idempotency keys, the log of retrievals, and counts of their use."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
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
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from stratagraph.store.postgres.schema.tables.base import Instant, Xid8, metadata, tenant_key

candidate = Table(
    "candidate",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("state", Text, nullable=False),
    Column("stage", Text, nullable=False, comment="the last stage it reached"),
    Column("actor", Text, nullable=False),
    Column("source", Text, comment="absent where the record it became is sealed"),
    Column("source_kind", Text, nullable=False),
    Column("input", JSONB, comment="kept only while it is not committed: the record holds it afterwards"),
    Column("sealed", LargeBinary, comment="the input of what is to be sealed"),
    Column("error", Text),
    Column("attempts", Integer, nullable=False),
    Column("next_try_at", Instant),
    Column("created_at", Instant, nullable=False),
    Column("record", Uuid),
    Column("created_records", ARRAY(Uuid), nullable=False),
    Column("edges", ARRAY(Uuid), nullable=False),
    Column("sequence", Xid8, nullable=False, server_default=func.pg_current_xact_id()),
    Column("batch", Uuid, comment="failed captures of one request, which are retried together"),
    Column("position", Integer, comment="in the batch, from 0"),
    Column("scope", Integer, comment="of the record that a failed capture would become"),
    Column("sensitivity", SmallInteger, comment="of the record that a failed capture would become"),
    Column("caller_scopes", ARRAY(Text), comment="scopes of the caller of a failed capture; none: all of the tenant"),
    Column(
        "caller_ceiling", SmallInteger, comment="ceiling of the caller of a failed capture; none: unknown, not retried"
    ),
    Column("caller_access", SmallInteger, comment="access of the caller of a failed capture; none: write"),
    Column(
        "caller_identity",
        Text,
        comment="identity of the API key that sent a failed capture; none: the actor is the caller's identity",
    ),
    Column(
        "is_import",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="captured by an import; captures of releases that did not say so count as such",
    ),
    CheckConstraint("state IN ('committed', 'failed')", name="state"),
    CheckConstraint("(state = 'committed') = (record IS NOT NULL)", name="record"),
    CheckConstraint("state <> 'failed' OR num_nonnulls(batch, position, sensitivity) = 3", name="failed"),
    ForeignKeyConstraint(["tenant"], ["tenant.id"]),
    Index("candidate_record_ix", "tenant", "record", postgresql_where=text("record IS NOT NULL")),
    Index("candidate_batch_ix", "tenant", "batch", "position", postgresql_where=text("state = 'failed'")),
    Index("candidate_retry_ix", "next_try_at", postgresql_where=text("state = 'failed'")),
)

idempotency = Table(
    "idempotency",
    metadata,
    tenant_key(),
    Column("actor", Text, primary_key=True, comment="the caller's identity"),
    Column("key_hash", LargeBinary, primary_key=True),
    Column("request_hash", LargeBinary, nullable=False),
    Column("candidate", Uuid, nullable=False),
    Column("created_at", Instant, nullable=False),
    ForeignKeyConstraint(["tenant", "candidate"], ["candidate.tenant", "candidate.id"], ondelete="CASCADE"),
    Index("idempotency_candidate_ix", "tenant", "candidate"),
)

retrieval = Table(
    "retrieval",
    metadata,
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("actor", Text, nullable=False, comment="the caller's identity"),
    Column("at", Instant, nullable=False),
    Column("roots", ARRAY(Uuid), nullable=False),
    Column("nodes", ARRAY(Uuid), nullable=False),
    Column("outcome", SmallInteger, comment="null until it is reported"),
    Column("reported_at", Instant),
    Column("report_hash", LargeBinary, comment="of the report, to recognise its repetition"),
    Column("credited", ARRAY(Uuid), comment="records that were used and credited with the outcome"),
    Column("penalized", ARRAY(Uuid), comment="records whose salience the report lowered"),
    Column("sequence", Xid8, comment="the transaction of the report"),
    Column(
        "is_playbook",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="its records are lessons that a playbook told",
    ),
    Column("composed_id", Uuid, comment="the id of the composed plan that it returned; null without one"),
    Column("composed", Text, comment="that plan's id as a plan, which names its parts"),
    Column("composed_parts", ARRAY(Uuid), comment="the records that are its parts"),
    CheckConstraint("outcome BETWEEN 1 AND 3", name="outcome"),
    CheckConstraint(
        "num_nonnulls(outcome, reported_at, report_hash, credited, penalized, sequence) IN (0, 6)", name="report"
    ),
    ForeignKeyConstraint(["tenant"], ["tenant.id"]),
    CheckConstraint("num_nonnulls(composed_id, composed, composed_parts) IN (0, 3)", name="composed"),
    Index("retrieval_at_ix", "at"),
    Index("retrieval_composed_ix", "tenant", "composed_id", postgresql_where=text("composed_id IS NOT NULL")),
    Index(
        "retrieval_playbook_ix",
        "tenant",
        "actor",
        "at",
        postgresql_where=text("is_playbook AND outcome IS NULL"),
    ),
)

retrieval_use = Table(
    "retrieval_use",
    metadata,
    tenant_key(),
    Column("successes", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Column("partials", BigInteger, nullable=False),
    Column("returned", BigInteger, nullable=False, comment="records of the retrievals that an outcome was reported of"),
    Column("used", BigInteger, nullable=False, comment="those of them that the reports name as used"),
    ForeignKeyConstraint(["tenant"], ["tenant.id"]),
)
