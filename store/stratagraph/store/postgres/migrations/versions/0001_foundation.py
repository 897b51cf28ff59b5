"""The whole data model of design/decisions.md: tables, keys, constraints and indexes."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_script("0001_foundation.sql")
