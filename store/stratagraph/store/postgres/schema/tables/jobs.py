"""Background jobs: one row per job, shared by all servers, and the rows that a job could not process."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Float, Index, Integer, Table, Text, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB

from stratagraph.store.postgres.schema.tables.base import Instant, metadata, tenant_key

job = Table(
    "job",
    metadata,
    Column("name", Text, primary_key=True),
    Column("owner", Text, comment="the server that runs it, or ran it last"),
    Column("lease_until", Instant, nullable=False, server_default=text("'-infinity'")),
    Column("next_run_at", Instant, nullable=False, server_default=text("'-infinity'")),
    Column("started_at", Instant),
    Column("finished_at", Instant),
    Column("took_s", Float, comment="seconds that the last finished run took"),
    Column("result", JSONB, nullable=False, server_default=text("'{}'"), comment="counts of the last successful run"),
    Column("error", Text, comment="why the last run failed: never a text that may quote a row"),
    Column("failures", Integer, nullable=False, server_default=text("0"), comment="failed runs since the last success"),
    Column("runs", BigInteger, nullable=False, server_default=text("0")),
    Column("failed_runs", BigInteger, nullable=False, server_default=text("0")),
    Column("totals", JSONB, nullable=False, server_default=text("'{}'"), comment="counts of all successful runs"),
    CheckConstraint("failures >= 0", name="failures"),
)

# A row that a job could not process. The job skips it until `next_try_at`, so that the others are processed.
job_set_aside = Table(
    "job_set_aside",
    metadata,
    Column("job", Text, primary_key=True),
    tenant_key(),
    Column("id", Uuid, primary_key=True),
    Column("error", Text, nullable=False, comment="the kind of the error and where it arose, never its text"),
    Column("stage", Text, comment="the stage that failed, of a job that has stages"),
    Column("attempts", Integer, nullable=False),
    Column("since", Instant, nullable=False),
    Column("next_try_at", Instant, nullable=False),
    CheckConstraint("attempts >= 1", name="attempts"),
    Index("job_set_aside_tenant_ix", "tenant", "id"),
)
