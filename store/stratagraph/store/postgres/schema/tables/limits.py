"""Fair use: the token bucket of each party, and the tokens that each process has leased from it.

Both tables are unlogged, since after a crash of the database every bucket may be full.
"""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, LargeBinary, Table, Uuid

from stratagraph.store.postgres.schema.tables.base import Instant, metadata

rate_bucket = Table(
    "rate_bucket",
    metadata,
    Column("bucket", LargeBinary, primary_key=True, comment="SHA-256 of the party's name"),
    Column("tokens", Float, nullable=False, comment="tokens at `refilled_at` that no process has leased"),
    Column("refilled_at", Instant, nullable=False),
    Index("rate_bucket_refilled_at_ix", "refilled_at"),
    prefixes=["UNLOGGED"],
)

# Leased tokens that were unspent when the lease began. When it expires, which means that its process has ended or has
# had nothing to spend, they return to the bucket.
rate_lease = Table(
    "rate_lease",
    metadata,
    Column("bucket", LargeBinary, ForeignKey("rate_bucket.bucket", ondelete="CASCADE"), primary_key=True),
    Column("process", Uuid, primary_key=True),
    Column("tokens", Float, nullable=False),
    Column("expires_at", Instant, nullable=False),
    prefixes=["UNLOGGED"],
)
